"""Tests of teams, and of what they share."""
