"""Coordination in PostgreSQL: each change is one transaction, and no project sees the rows of another."""
