"""Writes a migration for what has changed in the tables: make migration MESSAGE="add x to y"."""

import sys
import tempfile

import bot.serving.serving  # noqa: F401  # with it every table is declared
from bot.database import schema

with tempfile.TemporaryDirectory() as folder:
    url = f"sqlite:///{folder}/now.db"
    schema.upgrade(url)
    schema.revise(url, sys.argv[1])
