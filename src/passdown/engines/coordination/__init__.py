"""Coordination over any store of rows: memory, SQLite and PostgreSQL keep rows, and decide nothing."""
