"""Sessions, their files and their clones."""
