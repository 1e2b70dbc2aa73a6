"""The log of events, its view and its archive."""
