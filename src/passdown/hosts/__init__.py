"""What is specific to a host: how it writes its transcripts."""
