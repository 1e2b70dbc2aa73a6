"""What hosts call at the moments of a session."""
