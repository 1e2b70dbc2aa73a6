"""What a starting session is told, within a budget."""
