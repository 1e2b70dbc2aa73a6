"""Coordination in PostgreSQL: one transaction for each change, and rows that no other project sees."""
