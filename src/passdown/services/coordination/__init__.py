"""How sessions work together: claim tasks, reserve files, send messages and hand over."""
