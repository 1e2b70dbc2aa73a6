"""Commands for the work itself: tasks, loops, gates and checkpoints."""
