"""Git: reads its files where it can, and starts it where it must."""
