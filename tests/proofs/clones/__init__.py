"""Clones of one repository over months: who puts events away, and what git makes of it."""
