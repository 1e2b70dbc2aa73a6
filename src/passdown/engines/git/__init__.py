"""Git: reads its files where possible, and starts it where necessary."""
