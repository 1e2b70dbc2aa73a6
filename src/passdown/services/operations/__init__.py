"""Changes to shared state: recorded before they are made, and finished even after a crash (C142)."""
