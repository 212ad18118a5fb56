"""A small good file to spoil, and what comes of it."""

from pathlib import Path

import pytest

from bot.config import ConfigurationFile, Settings
from bot.errors import ConfigurationError

GOOD = """\
workspace: T0QM
teams:
  team-a:
    channels: [C0TEAMA]
    namespace: team-a
    local_queue: team-a
admins:
  people: [U0CAROL]
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "quartermaster.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def load(folder: Path, text: str) -> Settings:
    return ConfigurationFile(write(folder, text)).load()


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load(folder, text)
    return caught.value.message
