"""Proofs of coordination."""
