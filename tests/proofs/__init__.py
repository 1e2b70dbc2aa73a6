"""Proofs that take their size from PASSDOWN_PROOF."""
