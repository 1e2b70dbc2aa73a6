"""Shared test code for engines, trackers and hosts; nothing else in the package imports it."""
