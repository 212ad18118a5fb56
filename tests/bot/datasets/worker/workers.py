"""Workers as the bot starts them: processes whose lines on standard output are read."""

import json
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.forked import finished

ROOT = Path(__file__).parents[4]


@dataclass(frozen=True)
class End:
    """How a worker ended, and all it said."""

    code: int
    lines: list[dict[str, Any]]
    complaints: str

    @property
    def last(self) -> dict[str, Any]:
        """Its last word."""
        return self.lines[-1]


def ended(*words: str, environment: dict[str, str] | None = None) -> End:
    """Runs `quartermaster` with these words to its end."""
    inherited = os.environ if environment is None else environment  # noqa: TID251  # a child's
    done = finished(words, ROOT, inherited)
    return End(done.returncode, said(done.stdout.splitlines()), done.stderr.decode())


def command(*words: str) -> list[str]:
    """The program with these words."""
    return [sys.executable, "-m", "bot", *words]


def said(lines: Iterable[bytes]) -> list[dict[str, Any]]:
    """Lines of standard output; each must be a JSON object."""
    return [json.loads(line) for line in lines]
