"""Builds of `bd` for tests, real and fake."""
