"""Journals in files: those of running sessions, and of ended ones."""
