"""What is old: events that are archived, and journals of ended sessions."""
