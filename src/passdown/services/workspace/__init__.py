"""Open a checkout and read or write its files."""
