"""Proofs of loops and plans."""
