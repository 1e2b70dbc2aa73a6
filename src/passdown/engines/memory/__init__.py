"""In-memory engines for when there is no SQLite cache: events, their index, and a search."""
