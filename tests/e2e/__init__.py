"""Real processes, whole outputs."""
