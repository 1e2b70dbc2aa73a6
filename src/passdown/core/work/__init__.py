"""The rules of how agents work: commands in documents, test-first phases, gates and loops."""
