"""Proof that no fact is lost, and how many of the important ones reach a brief."""
