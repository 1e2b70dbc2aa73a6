"""What services ask of the world, as protocols that promise outcomes and errors."""
