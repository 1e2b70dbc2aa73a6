"""Tests of views, and of the commands of the log."""
