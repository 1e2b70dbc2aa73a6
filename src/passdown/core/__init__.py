"""Decisions without side effects: values in, values out."""
