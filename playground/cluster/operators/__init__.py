"""Operators that some clusters have: they turn jobs of their own kinds into pods."""
