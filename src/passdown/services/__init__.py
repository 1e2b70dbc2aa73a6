"""The use cases: each service reads through ports, lets the core decide, and writes."""
