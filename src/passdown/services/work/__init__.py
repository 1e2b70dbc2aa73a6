"""Work in a session: the tracker, loops, gates, test-first phases, checkpoints and contexts."""
