"""Tests of files, git and the machine."""
