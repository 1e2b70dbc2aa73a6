"""Tests of documents: how they are read, changed and taken in."""
