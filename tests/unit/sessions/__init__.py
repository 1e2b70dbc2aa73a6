"""Tests of sessions, journals and what is published."""
