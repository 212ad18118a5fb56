"""What scenarios are written in: people act, cards are checked, and the data of the longest two."""
