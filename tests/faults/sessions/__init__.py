"""Faults of what a session writes."""
