"""The implementations of `Tracker`: the board that sessions share, and Beads."""
