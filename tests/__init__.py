"""Proofs that Passdown does what it says; run them with `uv run pytest`."""

import sys

# What the tests import is compiled once, whatever the environment says: every process they start reads it.
sys.dont_write_bytecode = False
