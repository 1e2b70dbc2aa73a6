"""What every tracker promises (`ports/tracker.py`), as tests to subclass."""
