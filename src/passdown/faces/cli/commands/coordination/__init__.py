"""The commands with which sessions work together."""
