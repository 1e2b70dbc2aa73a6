"""What can be asked for: one function for each request, which every face calls (C157)."""
