"""One suite for each port: every implementation subclasses it and passes all of it."""
