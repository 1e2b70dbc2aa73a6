"""Mutants: small faults that are put into a module one at a time, to see whether a test notices."""
