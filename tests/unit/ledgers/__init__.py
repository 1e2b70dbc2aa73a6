"""Tests of ledgers, of what sessions say and of what is observed."""
