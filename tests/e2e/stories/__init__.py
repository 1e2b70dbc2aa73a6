"""Stories that the docs tell."""
