"""Clones of one repository, in which people and sessions work and archive."""
