"""The tracker Beads, through whichever build of `bd` is installed."""
