"""Tests of hosts, and of what they tell."""
