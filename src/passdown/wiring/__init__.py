"""Builds what faces need; the only package that knows engines and hosts."""
