"""Engines in memory, with which tests run what needs files, git or a database."""
