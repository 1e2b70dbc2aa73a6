"""Briefs: what a session is told when it starts, within a budget."""
