"""The frame of a controller: load, observe, decide, act, record (docs/reconciling.md)."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from sqlmodel import Session

from bot.clock import Clock
from bot.cluster.cluster import Cluster
from bot.cluster.resources import Resource
from bot.config import Settings
from bot.database.database import Database
from bot.errors import ClusterError
from bot.reconcile.controller import Step, Trouble
from bot.reconcile.decisions import Wait
from bot.slack.messages import Subject, refresh_cards

SOON = timedelta(seconds=2)
"""When to look again after a change of the bot's own: most objects answer within it."""
_FIRST, _LONGEST = timedelta(seconds=5), timedelta(minutes=1)
_SHOWN_ATTEMPTS = 2

RowT = TypeVar("RowT")
ObservedT = TypeVar("ObservedT")
DecisionT = TypeVar("DecisionT")


@dataclass(frozen=True)
class ControllerContext:
    """What controllers work with; `format_command` writes a command as people type it."""

    database: Database
    clock: Clock
    settings: Callable[[], Settings]
    clusters: Mapping[str, Cluster]
    format_command: Callable[[str], str]

    def cluster(self, name: str, until: str) -> Cluster:
        """The cluster of that name; ClusterError if it is not configured.

        `until` ends the hint: how long it is needed, such as "its caches are gone".
        """
        found = self.clusters.get(name)
        if found is None:
            raise ClusterError(
                f"Cluster {name} is no longer in quartermaster.yaml.",
                f"A platform admin must add it again and keep it until {until}.",
                reason="Unreachable",
            )
        return found


@dataclass(frozen=True)
class Findings(Generic[DecisionT, ObservedT]):
    """The outcome of a step: what was decided, what that is based on, and when."""

    decision: DecisionT
    observed: ObservedT
    now: datetime


class Reconciler(ABC, Generic[RowT, ObservedT, DecisionT]):
    """A controller as its parts; `step` runs them in order, at most one change each time.

    `table` has its rows, and `phases` the phases it knows: a row in another phase belongs to a
    newer version of the bot and is left alone.
    """

    kind: str
    table: ClassVar[type[Any]]
    phases: ClassVar[type[StrEnum]]

    def __init__(self, context: ControllerContext) -> None:
        self._context = context

    def step(self, row_id: str, /) -> Step:
        """Takes the next step for a row; OutsideError if something outside fails."""
        row = self._context.database.read(lambda session: self.load(session, row_id))
        if row is None:
            return Step(None)
        now = self._context.clock.now()
        observed = self.observe(row, now)
        decision = self.decide(row, observed, now)
        if not isinstance(decision, Wait):
            decision = self.act(row, observed, decision)
        if isinstance(decision, Wait):
            return Step(decision.until)
        found = Findings(decision, observed, now)
        return Step(self.next_look(row, found), lambda session: self.record(session, row, found))

    def on_failure(self, session: Session, row_id: str, trouble: Trouble, /) -> None:
        """Shows on the card why steps fail, from the second failure on."""
        note_failure(session, session.get(self.table, row_id), trouble)

    def load(self, session: Session, row_id: str) -> RowT | None:
        """The row; None if nothing is to be done with it."""
        row = session.get(self.table, row_id)
        if row is None or row.is_cleared or row.phase not in set(self.phases):
            return None
        found: RowT = row
        return found

    @abstractmethod
    def observe(self, row: RowT, now: datetime) -> ObservedT:
        """What the world shows of the row, by requests that change nothing."""

    @abstractmethod
    def decide(self, row: RowT, observed: ObservedT, now: datetime) -> DecisionT:
        """The next step. No requests."""

    @abstractmethod
    def act(self, row: RowT, observed: ObservedT, decision: DecisionT) -> DecisionT:
        """Carries out a decision by one request that is safe to repeat; the decision to record."""

    @abstractmethod
    def record(self, session: Session, row: RowT, found: Findings[DecisionT, ObservedT]) -> None:
        """Writes what was found to the row, read anew, and to its card if that has changed."""

    @abstractmethod
    def next_look(self, row: RowT, found: Findings[DecisionT, ObservedT]) -> datetime | None:
        """When to take the next step if nothing wakes the row before; None: only when woken."""


class HasTrouble(Protocol):
    """A row whose card shows why its steps fail."""

    trouble: str

    @property
    def is_live(self) -> bool:
        """Whether it has not ended."""

    @property
    def subject(self) -> Subject:
        """What its card is about."""


def note_failure(session: Session, row: HasTrouble | None, trouble: Trouble) -> None:
    """Records from the second failed attempt on why steps fail, and refreshes the row's card."""
    if row is None or trouble.attempts < _SHOWN_ATTEMPTS or row.trouble == trouble.sentence:
        return
    row.trouble = trouble.sentence
    session.add(row)
    refresh_cards(session, row.subject, live=row.is_live)


def create_once(
    cluster: Cluster,
    resource: Resource[Any],
    body: Mapping[str, Any],
    namespace: str | None,
    *,
    hopeless: Collection[str] = (),
) -> ClusterError | None:
    """Creates an object under a name of its own; if the name is taken, the next step sees by whom.

    Returns the refusal if repeating cannot help, or if its reason is one of `hopeless`; raises
    the ClusterError otherwise.
    """
    try:
        cluster.create(resource, body, namespace)
    except ClusterError as error:
        if error.is_final or error.reason in hopeless:
            return error
        if error.reason != "AlreadyExists":
            raise
    return None


def slower(
    since: datetime,
    now: datetime,
    first: timedelta = _FIRST,
    longest: timedelta = _LONGEST,
) -> datetime:
    """When to look again: after a tenth of the time it has taken, between `first` and `longest`."""
    return now + min(max(first, (now - since) / 10), longest)
