"""Implementations of the ports, one package for each kind of storage."""
