"""The places where a run that names compute templates may wait, as they are stored in its row."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec

from bot.training.spec import RunSpec
from bot.training.tables import Run


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A compute template as it was when a run was submitted, and the run's spec there.

    The run waits there for `after_seconds` before it moves on; with `is_after_typed` the command
    said so. `price` is what it costs there, such as "24.00 USD an hour", empty if unknown, and
    `hourly` the same as a number.
    """

    template: str
    cluster: str
    queue: str
    after_seconds: int
    is_after_typed: bool = False
    price: str = ""
    hourly: Decimal | None = None
    spec: RunSpec

    @property
    def after(self) -> timedelta:
        """How long the run waits there before it moves on."""
        return timedelta(seconds=self.after_seconds)

    @property
    def where(self) -> str:
        """The queue and the cluster, as a part of a sentence."""
        return f"queue {self.queue} of cluster {self.cluster}"


# msgspec looks into a class when it first meets it, and a thread that meets it meanwhile crashes;
# so it meets this one here, while there is one thread.
msgspec.json.Decoder(Candidate)


def to_rows(candidates: Sequence[Candidate]) -> list[dict[str, Any]]:
    """The candidates as they are stored in the row."""
    return [msgspec.to_builtins(each) for each in candidates]


def candidates_of(run: Run) -> tuple[Candidate, ...]:
    """The places where a run may wait, in order; none if it names no template."""
    return tuple(msgspec.convert(each, Candidate) for each in run.candidates)


def templates_of(run: Run) -> tuple[str, ...]:
    """The names of the templates of a run, in order."""
    return tuple(each["template"] for each in run.candidates)


def current(run: Run) -> Candidate | None:
    """Where the run is; None if it names no template."""
    return _numbered(run, run.candidate)


def following(run: Run) -> Candidate | None:
    """Where the run moves on to if it is not admitted in time; None if it stays where it is.

    A run that was admitted once stays: what it has written is where it ran.
    """
    return None if run.admissions or run.preemptions else _numbered(run, run.candidate + 1)


def moves_at(run: Run) -> datetime | None:
    """When the run moves on if it has not been admitted by then; None if it does not.

    Its time counts from when it is in the queue.
    """
    here = current(run) if following(run) else None
    return run.made_at + here.after if here is not None and run.made_at is not None else None


def _numbered(run: Run, number: int) -> Candidate | None:
    if not 0 <= number < len(run.candidates):
        return None
    return msgspec.convert(run.candidates[number], Candidate)
