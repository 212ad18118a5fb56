"""The decisions that most kinds of rows share; each kind adds its own."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Generic, TypeVar

PhaseT = TypeVar("PhaseT", bound=StrEnum)


@dataclass(frozen=True)
class Wait:
    """Do nothing and record nothing until that time, or until the row is woken."""

    until: datetime | None = None


@dataclass(frozen=True)
class Create:
    """Create the row's object."""


@dataclass(frozen=True)
class UpdateStatus(Generic[PhaseT]):
    """Change nothing outside; record the phase, and as a sentence what is in the way."""

    phase: PhaseT
    obstacle: str = ""


@dataclass(frozen=True)
class Fail:
    """The work failed; `reason` and `unblock` are sentences: why, and what to do.

    `keys` are the files it concerns, if it concerns some; `word` is the worker's code for it.
    """

    reason: str
    unblock: str = ""
    keys: tuple[str, ...] = ()
    word: str = ""


@dataclass(frozen=True)
class Delete:
    """Delete the row's object, if it still has that uid."""

    uid: str


@dataclass(frozen=True)
class Done:
    """Nothing outside is left of the row, except what `remains` describes as a sentence."""

    remains: str = ""
