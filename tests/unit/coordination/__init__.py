"""Tests of tasks, reservations, mail and operations."""
