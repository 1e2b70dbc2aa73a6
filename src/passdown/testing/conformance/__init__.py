"""One suite for each port: whoever implements the port subclasses it and passes all of it."""
