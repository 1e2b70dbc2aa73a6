"""The pass-down log for coding agents."""

__version__ = "0.1.0"
