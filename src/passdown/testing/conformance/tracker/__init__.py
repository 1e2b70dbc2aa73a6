"""The promises of every tracker (`ports/tracker.py`), as tests to subclass."""
