"""Hostile texts."""
