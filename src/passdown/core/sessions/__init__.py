"""What one session knows, publishes and hands off."""
