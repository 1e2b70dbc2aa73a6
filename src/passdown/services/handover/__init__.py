"""Pass work from one session to the next: briefs, handoffs, tracks and certificates."""
