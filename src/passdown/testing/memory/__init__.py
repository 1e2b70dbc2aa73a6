"""Engines in memory, so that tests need no files, git or database."""
