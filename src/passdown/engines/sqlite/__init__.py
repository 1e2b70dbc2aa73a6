"""The only way to open SQLite, and what is stored in it."""
