"""Proof that no fact is lost, and measurements of how many facts reach a brief."""
