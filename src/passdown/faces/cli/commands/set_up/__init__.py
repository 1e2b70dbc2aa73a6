"""Commands around setting up that change nothing in a project."""
