"""What hosts and Passdown tell each other: hook calls, transcripts, installs, context usage."""
