"""Each engine runs the whole suite of each port that it implements."""
