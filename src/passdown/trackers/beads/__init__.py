"""Beads: tasks that `bd` keeps, whichever of its builds is installed."""
