"""Charts as values, and as pictures."""
