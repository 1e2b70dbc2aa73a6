"""What is old: events that are archived, journals and files of ended sessions."""
