"""Journals of ended sessions that are archived, and what decides it."""
