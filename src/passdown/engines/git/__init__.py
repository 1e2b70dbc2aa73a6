"""Git: reads git's files where possible, and runs git where necessary."""
