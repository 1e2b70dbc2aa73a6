"""What can be rebuilt from files at any time: caches that make reading fast."""
