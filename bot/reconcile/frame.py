"""The frame of a controller: load, observe, decide, act, record (docs/reconciling.md)."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from sqlmodel import Session
from typing_extensions import override

from bot.clock import Clock
from bot.cluster.cluster import Cluster
from bot.cluster.resources import Resource
from bot.config import Settings
from bot.database.database import Database
from bot.errors import ClusterError
from bot.reconcile.controller import Step, Trouble
from bot.reconcile.decisions import Wait
from bot.slack.markup import FormatCommand
from bot.slack.messages import Subject, refresh_cards

SOON = timedelta(seconds=2)
"""When to look again after a change of the bot's own: most objects answer within it."""
_FIRST, _LONGEST = timedelta(seconds=5), timedelta(minutes=1)

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
    format_command: FormatCommand

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


class RowController(ABC, Generic[RowT]):
    """A controller that reads its row first: what all controllers of rows with a card share.

    `table` has the rows, and `phases` the phases that are known: a row in another phase belongs to
    a newer version of the bot and is left alone.
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
        return self.reconcile(row, self._context.clock.now())

    def on_failure(self, session: Session, row_id: str, trouble: Trouble, /) -> None:
        """Shows on the card why steps fail, from the second failure on."""
        note_failure(session, session.get(self.table, row_id), trouble)

    def load(self, session: Session, row_id: str) -> RowT | None:
        """What the rows say before anything is observed; None if nothing is to be done."""
        found: RowT | None = self.known(session, row_id)
        return found

    def known(self, session: Session, row_id: str) -> Any:
        """The row itself; None if nothing is left to do, or if it is a newer version's."""
        row = session.get(self.table, row_id)
        is_known = row is not None and row.phase in set(self.phases) and not row.is_cleared
        return row if is_known else None

    @abstractmethod
    def reconcile(self, row: RowT, now: datetime) -> Step:
        """Takes the next step for a row that was just read."""


class Reconciler(RowController[RowT], Generic[RowT, ObservedT, DecisionT]):
    """A controller as its parts, which run in this order: observe, decide, act, record."""

    @override
    def reconcile(self, row: RowT, now: datetime) -> Step:
        """Observes, decides and acts."""
        observed = self.observe(row, now)
        decision = self.decide(row, observed, now)
        if not isinstance(decision, Wait):
            decision = self.act(row, observed, decision)
        if isinstance(decision, Wait):
            return Step(decision.until)
        return self.outcome(row, Findings(decision, observed, now))

    def outcome(self, row: RowT, found: Findings[DecisionT, ObservedT]) -> Step:
        """What to save, and when to look again."""
        return Step(self.next_look(row, found), lambda session: self.record(session, row, found))

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


def note_failure(
    session: Session, row: HasTrouble | None, trouble: Trouble, *, live: bool | None = None
) -> None:
    """Records from the second failed attempt on why steps fail, and refreshes the row's card.

    `live`: whether the card is one of those that follow work; by default, if the row is live.
    """
    if row is None or not trouble.is_lasting or row.trouble == trouble.sentence:
        return
    row.trouble = trouble.sentence
    session.add(row)
    refresh_cards(session, row.subject, live=row.is_live if live is None else live)


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
