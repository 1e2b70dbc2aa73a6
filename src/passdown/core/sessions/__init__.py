"""What one session knows, publishes and hands over."""
