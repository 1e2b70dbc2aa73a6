"""One suite for each port: every implementation subclasses its suite and must pass all of it."""
