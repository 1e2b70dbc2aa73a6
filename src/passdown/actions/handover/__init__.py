"""What passes from one session to the next: briefs, certificates, handoffs, tracks."""
