"""Faults of what sessions share."""
