"""Tests of formats, and of hostile texts."""
