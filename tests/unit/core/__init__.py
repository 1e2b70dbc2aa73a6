"""Tests of ids, times, texts and settings."""
