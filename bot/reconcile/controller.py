"""What the due loop runs: a controller for each kind of row, and the result of its steps."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from sqlmodel import Session

_SHOWN_ATTEMPTS = 2


def nothing(_session: Session) -> None:
    """Saves nothing."""


@dataclass(frozen=True)
class Step:
    """The result of a step: when to run again (None: when woken) and what to save."""

    again: datetime | None
    save: Callable[[Session], None] = nothing


@dataclass(frozen=True)
class Trouble:
    """A step that failed: a sentence safe to show, and how often in a row it has failed."""

    sentence: str
    attempts: int

    @property
    def is_lasting(self) -> bool:
        """Whether it is worth showing: a single failure passes before anybody looks."""
        return self.attempts >= _SHOWN_ATTEMPTS


class Controller(Protocol):
    """Reconciles one kind of row: observes the world, takes at most one repeatable step."""

    kind: str

    def step(self, row_id: str, /) -> Step:
        """Takes the next step for a row; raises OutsideError when the world did not let it."""
        ...

    def on_failure(self, session: Session, row_id: str, trouble: Trouble, /) -> None:
        """Records on the row that its step failed, so that its card shows it."""
        ...
