"""Storage in the memory of this process: for tests, and to try things out."""
