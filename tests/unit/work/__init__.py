"""Tests of loops, gates, checkpoints and test-first."""
