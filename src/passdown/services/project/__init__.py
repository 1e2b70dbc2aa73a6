"""Set up, pause, install into hosts, search, diagnose and clean up a project."""
