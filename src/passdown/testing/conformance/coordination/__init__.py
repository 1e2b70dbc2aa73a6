"""What every `Coordination` implementation must do; `suite.py` has the whole of it."""
