"""What keeps the promises of `Tracker`: the board that sessions share, and Beads."""
