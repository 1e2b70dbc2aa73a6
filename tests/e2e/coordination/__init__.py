"""Tasks, files and mail that sessions share."""
