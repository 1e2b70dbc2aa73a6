"""How agents work: commands found in documents, test-first phases, gates, loops."""
