"""Tests of SQLite and PostgreSQL."""
