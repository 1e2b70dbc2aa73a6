"""Proofs of the merge."""
