"""Tests of set-up, search and health of a project."""
