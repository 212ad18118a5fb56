"""Texts about runs that cards, answers and messages share."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Protocol

from sqlmodel import Session

from bot.durations import format_duration
from bot.people import people
from bot.slack.markup import Markup, plain
from bot.training.spec import RunSpec
from bot.training.tables import Run, RunPhase

SHOWN_LINES = 10
STOPPING = "Stopping"
_LONGEST_SHOWN = 200
_FENCE = "```"
_ENDS = {
    RunPhase.SUCCEEDED: ("Succeeded", "in"),
    RunPhase.FAILED: ("Failed", "after"),
    RunPhase.STOPPED: ("Stopped", "after"),
    RunPhase.VANISHED: ("Deleted outside Quartermaster", "after"),
    RunPhase.UNMANAGED: ("Not managed by its quota engine", "after"),
    RunPhase.EXPIRED: ("Expired", "after"),
}
ENDED = {
    RunPhase.SUCCEEDED: "has succeeded",
    RunPhase.FAILED: "has failed",
    RunPhase.STOPPED: "was stopped",
    RunPhase.VANISHED: "was deleted outside Quartermaster",
    RunPhase.UNMANAGED: "was removed, because the quota engine there does not manage it",
    RunPhase.EXPIRED: "has expired, because its time was up",
}
_NAMES = {
    RunPhase.ASKED: "Pending",
    RunPhase.AFTER: "Waiting for runs",
    RunPhase.DATA: "Waiting for data",
    RunPhase.PENDING: "Pending",
    RunPhase.PREEMPTED: "Preempted, waiting again",
    RunPhase.CREATING: "Creating",
}


class RunSummary(Protocol):
    """What the status of a run is derived from: its row, or its row in the list."""

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
        """When its phase began."""

    @property
    def started_at(self) -> datetime | None:
        """When it started to run."""

    @property
    def ended_at(self) -> datetime | None:
        """When it ended."""


def state_words(run: RunSummary, now: datetime) -> str:
    """The status of a run in a few words."""
    phase = RunPhase(run.phase)
    if run.ended_at is not None:
        word, link = _ENDS[phase]
        lasted = duration(run)
        return f"{word} {link} {lasted}" if lasted else word
    if run.wanted == "stop" or run.removing is not None:
        return STOPPING
    if phase is RunPhase.RUNNING:
        return f"Running for {format_duration(max(now - run.since, now - now))}"
    return _NAMES[phase]


def phase_words(run: RunSummary) -> str:
    """The phase of a run within a sentence, without figures that change."""
    word = _ENDS[RunPhase(run.phase)][0] if run.ended_at else _NAMES.get(RunPhase(run.phase))
    return (word or "Running").lower()


def duration(run: RunSummary) -> str:
    """How long it ran, empty when it never did."""
    if run.started_at is None or run.ended_at is None:
        return ""
    return format_duration(run.ended_at - run.started_at)


def gpus(count: int | Decimal) -> str:
    """`no GPU`, `1 GPU`, `8 GPUs`."""
    number = f"{Decimal(count).normalize():f}"
    return "no GPU" if not count else f"{number} GPU{'' if count == 1 else 's'}"


def results(run: Run) -> str:
    """The results from its log, as `loss 0.23 · accuracy 0.91`."""
    return " · ".join(f"{name} {value}" for name, value in run.results.items())


def place(run: Run) -> str:
    """Its position in the queue as a sentence, empty if unknown."""
    if run.place is None:
        return ""
    ahead = f"; workloads ahead of it request {gpus(run.gpus_ahead)}" if run.gpus_ahead else ""
    return f"It is number {run.place} in its queue{ahead}."


def name_of(session: Session, workspace_id: str, user_id: str | None) -> str:
    """The name of a person, or of the bot if there is none; a name notifies no one."""
    if user_id is None:
        return "Quartermaster"
    return people.name_of(session, workspace_id, user_id)


def block(lines: Sequence[str]) -> Markup:
    """The last lines in fixed width."""
    shown = [line[:_LONGEST_SHOWN] for line in lines[-SHOWN_LINES:]]
    text = "\n".join(shown).replace(_FENCE, "'''")
    return Markup(f"{_FENCE}\n{plain(text)}\n{_FENCE}")


def start_words(spec: RunSpec) -> tuple[str, ...]:
    """Which runs have to end before a run of this spec starts, as a sentence."""
    ends = ("has ended" if each.is_any else "has succeeded" for each in spec.after)
    parts = [f"{each.run} {end}" for each, end in zip(spec.after, ends, strict=True)]
    return (f"It starts once {listed(parts)}.",) if parts else ()


def listed(words: Sequence[str]) -> str:
    """The words as a part of a sentence."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def amounts_of(spec: RunSpec) -> str:
    """What a run requests, in words: per node, if it has several."""
    shm = f" (including {spec.shm} of /dev/shm)" if spec.shm_bytes else ""
    sort = f" of {spec.gpu_type}" if spec.gpu_type else ""
    cores = "1 core" if spec.cpu == "1" else f"{spec.cpu} cores"
    amounts = f"{gpus(spec.gpus)}{sort}, {cores} and {spec.memory_with_shm} memory{shm}"
    return f"{spec.nodes} nodes, each with {amounts}" if spec.nodes > 1 else amounts


def money_an_hour(amount: Decimal, currency: str) -> str:
    """A price by the hour, such as "24.00 USD an hour"."""
    return f"{amount:,.2f} {currency} an hour"
