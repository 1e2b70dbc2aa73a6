"""What tests use: commands, projects, sessions, people."""
