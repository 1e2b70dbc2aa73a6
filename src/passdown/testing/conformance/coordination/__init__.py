"""The promises that every `Coordination` implementation must keep; `suite.py` combines all of them."""
