"""The command line: start, try out, check, migrate, push from a computer, and workers."""

from bot.cli import datasets, operating, workers
from bot.cli.group import main

__all__ = ["datasets", "main", "operating", "workers"]
