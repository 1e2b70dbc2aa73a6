"""The only code that opens SQLite, and the databases stored in it."""
