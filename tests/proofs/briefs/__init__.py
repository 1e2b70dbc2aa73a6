"""Proofs of briefs."""
