"""Reconciliation: rows that are due, the loop that takes them, and the frame of a controller."""
