"""Set up, pause, install into hosts, search, diagnose and clean a project."""
