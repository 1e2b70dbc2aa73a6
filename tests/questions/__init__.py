"""Questions about a made-up history of a project, and the history itself."""
