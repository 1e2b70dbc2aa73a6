"""Write, merge, verify, archive and commit the event log and its view."""
