"""One verb each: read through ports, let the core decide, write."""
