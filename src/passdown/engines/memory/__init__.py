"""Storage in this process's memory: for tests, and for whoever wants to try something out."""
