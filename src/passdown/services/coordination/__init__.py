"""What sessions do together: claim tasks, reserve files, send messages, and hand over."""
