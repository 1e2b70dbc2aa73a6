"""What wiring keeps in memory where there is no SQLite cache: events, their index, and a search."""
