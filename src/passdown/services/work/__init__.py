"""The work itself: the tracker, loops, gates, test-first phases, checkpoints and contexts."""
