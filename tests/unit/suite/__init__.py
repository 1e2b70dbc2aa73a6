"""Tests of the tests, of CI and of the house rules."""
