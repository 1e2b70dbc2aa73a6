"""Real hosts."""
