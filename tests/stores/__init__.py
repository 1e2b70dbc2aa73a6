"""Servers and stores for tests."""
