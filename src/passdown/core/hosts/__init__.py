"""What hosts and Passdown exchange: hook calls, transcripts, installs, context usage."""
