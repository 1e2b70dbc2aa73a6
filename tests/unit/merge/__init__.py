"""Tests of facts, decisions, their merge, and certificates."""
