"""The actions: one function for each request, called by every face (C157)."""
