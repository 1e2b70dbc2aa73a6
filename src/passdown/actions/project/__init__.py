"""The project as a whole: setup, installs, health, search and checks."""
