"""Hostile repositories: what a pull request, a payload or settings can carry gets nowhere."""
