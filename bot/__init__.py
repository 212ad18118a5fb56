"""Quartermaster, the application."""

DISTRIBUTION = "quartermaster-bot"
"""The name of its distribution; `quartermaster` on the Python index is another project."""
