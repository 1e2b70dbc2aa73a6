"""Tests of Passdown; run them with `uv run pytest`."""

import sys

# Compile what the tests import, whatever the environment says: every process that they start reads it.
sys.dont_write_bytecode = False
