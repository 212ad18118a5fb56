"""The words for runs, the same on cards, in answers and in messages."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Protocol

from sqlmodel import Session

from bot import people
from bot.durations import format_duration
from bot.slack.markup import Markup, plain
from bot.training.tables import Phase, Run

SHOWN_LINES = 10
_LONGEST_SHOWN = 200
_FENCE = "```"
_ENDS = {
    Phase.SUCCEEDED: ("Succeeded", "in"),
    Phase.FAILED: ("Failed", "after"),
    Phase.STOPPED: ("Stopped", "after"),
    Phase.VANISHED: ("Deleted outside Quartermaster", "after"),
    Phase.UNMANAGED: ("Not managed by its quota engine", "after"),
    Phase.EXPIRED: ("Expired", "after"),
}
_NAMES = {
    Phase.ASKED: "Pending",
    Phase.DATA: "Waiting for data",
    Phase.PENDING: "Pending",
    Phase.PREEMPTED: "Preempted, waiting again",
    Phase.CREATING: "Creating",
}


class Standing(Protocol):
    """What the words for a run's state are made from: its row, or its line in the list."""

    @property
    def phase(self) -> str:
        """A Phase."""

    @property
    def wanted(self) -> str:
        """A Wanted."""

    @property
    def removing(self) -> str | None:
        """The end that the removal of its objects leads to."""

    @property
    def since(self) -> datetime:
        """Since when it is in its phase."""

    @property
    def started_at(self) -> datetime | None:
        """When it began to run."""

    @property
    def ended_at(self) -> datetime | None:
        """When it ended."""


def state_words(run: Standing, now: datetime) -> str:
    """How a run stands, in a few words."""
    phase = Phase(run.phase)
    if run.ended_at is not None:
        word, link = _ENDS[phase]
        lasted = duration(run)
        return f"{word} {link} {lasted}" if lasted else word
    if run.wanted == "stop" or run.removing is not None:
        return "Stopping"
    if phase is Phase.RUNNING:
        return f"Running for {format_duration(max(now - run.since, now - now))}"
    return _NAMES[phase]


def duration(run: Standing) -> str:
    """How long it ran, empty when it never did."""
    if run.started_at is None or run.ended_at is None:
        return ""
    return format_duration(run.ended_at - run.started_at)


def gpus(count: int | Decimal) -> str:
    """`no GPU`, `1 GPU`, `8 GPUs`."""
    number = f"{Decimal(count).normalize():f}"
    return "no GPU" if not count else f"{number} GPU{'' if count == 1 else 's'}"


def results(run: Run) -> str:
    """The figures its log told, as `loss 0.23 · accuracy 0.91`."""
    return " · ".join(f"{name} {value}" for name, value in run.results.items())


def place(run: Run) -> str:
    """Its place in the queue as a sentence, empty when nobody knows it."""
    if run.place is None:
        return ""
    ahead = f"; workloads ahead of it request {gpus(run.gpus_ahead)}" if run.gpus_ahead else ""
    return f"It is number {run.place} in its queue{ahead}."


def name_of(session: Session, workspace_id: str, user_id: str | None) -> str:
    """What somebody is called, the bot itself where it is nobody; a name notifies nobody."""
    if user_id is None:
        return "Quartermaster"
    return people.name_of(session, workspace_id, user_id)


def block(lines: Sequence[str]) -> Markup:
    """The last lines in fixed width."""
    shown = [line[:_LONGEST_SHOWN] for line in lines[-SHOWN_LINES:]]
    text = "\n".join(shown).replace(_FENCE, "'''")
    return Markup(f"{_FENCE}\n{plain(text)}\n{_FENCE}")
