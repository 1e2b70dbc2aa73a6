"""Markdown documents with front matter: splitting into fields, reading, writing and revising."""
