"""Proofs that Passdown does what it says; run them with `uv run pytest`."""
