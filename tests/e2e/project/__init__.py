"""Set-up, checks and documents."""
