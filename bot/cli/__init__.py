"""The command line: start, try out, check, migrate, and the workers of datasets."""

from bot.cli import operating, workers
from bot.cli.group import main

__all__ = ["main", "operating", "workers"]
