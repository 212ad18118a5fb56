"""A sender between a database and a strict Slack, with time that a test moves."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

from sqlmodel import Session, select
from typing_extensions import override

from bot.charts.values import Chart
from bot.clock import Clock
from bot.config import Settings
from bot.database.database import Database
from bot.errors import DatabaseError
from bot.slack.card import Card, Table
from bot.slack.markup import plain
from bot.slack.messages import Message, Subject, ThreadMessage, post_once, refresh_cards, show_card
from bot.slack.sending.sender import Sender
from playground.clock import VirtualClock
from playground.slack.people import Message as Shown
from tests.bot.slack.receiving.dispatchers import client_of, settings_for
from tests.databases import create_tables
from tests.playground.slack.served import Served, Stage

T = TypeVar("T")

RUN = Subject("T0QM", "run", "lane")
WHEN = Clock().now()


@dataclass
class Time:
    """One time for the sender, its database and Slack; it stands still until a test moves it.

    Senders with threads of their own need time that runs.
    """

    moved: timedelta = timedelta(0)
    _runs_since: float | None = None

    def run(self) -> None:
        """Lets it pass by itself, too."""
        self._runs_since = time.monotonic()

    def passed(self) -> timedelta:
        """How much of it has passed."""
        if self._runs_since is None:
            return self.moved
        return self.moved + timedelta(seconds=time.monotonic() - self._runs_since)

    def monotonic(self) -> float:
        """Whole numbers to begin with, so that a second later is no rounding error too early."""
        return 1000 + self.passed().total_seconds()

    def now(self) -> datetime:
        return WHEN + self.passed()


class TimedDatabase(Database):
    """A database that takes its own time from a test; `meanwhile` happens after its next read.

    `reads` counts what was read.
    """

    def __init__(self, url: str, given: Time) -> None:
        super().__init__(url)
        self.meanwhile: Callable[[], object] | None = None
        self.reads = 0
        self._time = given

    @override
    def read(self, work: Callable[[Session], T]) -> T:
        result = super().read(work)
        self.reads += 1
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return result

    @override
    def real_now(self, session: Session) -> datetime:
        return self._time.now()


class TimedClock(VirtualClock):
    """A clock of the playground that follows a test's time."""

    def __init__(self, given: Time) -> None:
        super().__init__()
        self._time = given

    @override
    def now(self) -> datetime:
        return self._time.now()


@dataclass
class Runs:
    """Renders cards of runs: the state a test gives them."""

    kind: str = "run"
    states: dict[str, str] = field(default_factory=dict)
    charts: tuple[Chart, ...] = ()
    table: Table | None = None
    bare: set[str] = field(default_factory=set)
    """Runs whose cards have no charts."""

    def card(self, _session: Session, subject_id: str, _channel: str) -> Card | None:
        state = self.states.get(subject_id, "Pending")
        if state == "gone":
            return None
        if state == "unread":
            raise DatabaseError("The database failed (OperationalError).")
        if state == "poison":
            raise ValueError("a card that cannot be drawn")
        charts = () if subject_id in self.bare else self.charts
        return Card(title=f"Run {subject_id}", state=state, charts=charts, table=self.table)


@dataclass
class SenderRig:
    """Everything between a row and what people see."""

    slack: Served
    database: TimedDatabase
    sender: Sender
    runs: Runs
    time: Time
    settings: Settings

    def show(self, run: str = "lane", channel: str = "C0TEAMA", *, live: bool = True) -> None:
        """Wants the run's card shown, as an area's service does."""
        subject = Subject("T0QM", "run", run)

        def work(session: Session) -> None:
            show_card(session, subject, channel, WHEN, live=live, owner="U0ALICE")

        self.database.transaction(work)

    def change(self, state: str, run: str = "lane", *, live: bool = True) -> None:
        """Gives a run a new state."""
        self.runs.states[run] = state
        subject = Subject("T0QM", "run", run)
        self.database.transaction(lambda session: refresh_cards(session, subject, live=live))

    def say(self, purpose: str, text: str, run: str = "lane", **more: Any) -> None:
        """Wants something said once, in the thread of the run's card."""
        subject = Subject("T0QM", "run", run)
        note = ThreadMessage(purpose, (plain(text),), owner="U0ALICE", **more)
        self.database.transaction(
            lambda session: post_once(session, subject, "C0TEAMA", note, WHEN)
        )

    def pass_time(self, seconds: float) -> None:
        """Lets time pass everywhere."""
        self.time.moved += timedelta(seconds=seconds)

    def start(self, *others: Sender) -> None:
        """Has the sender, and others, send by themselves."""
        self.time.run()
        for sender in (self.sender, *others):
            sender.start()

    def rows(self) -> list[Message]:
        return self.database.read(
            lambda session: list(session.exec(select(Message).order_by(Message.id)))
        )

    def row(self) -> Message:
        [row] = self.rows()
        return row

    def shown(self, channel: str = "C0TEAMA") -> list[Shown]:
        """The messages that everybody sees in a channel."""
        place = self.slack.workspace.channels.get(channel)
        return [m for m in place.messages if not m.viewer and not m.deleted] if place else []

    def texts(self, channel: str = "C0TEAMA") -> list[str]:
        workspace = self.slack.workspace
        return self.slack.call(lambda: [workspace.text_of(m) for m in self.shown(channel)])

    def calls(self, method: str) -> int:
        """How often a method was called, answered or not."""
        return sum(request.name == method for request in self.slack.workspace.ledger.requests)

    def another(self) -> Sender:
        """Another process's sender."""
        return sender_for(self.slack, self.database, self.runs, self.time, self.settings)


def sender_for(
    slack: Served, database: Database, runs: Runs, given: Time, settings: Settings
) -> Sender:
    return Sender(
        database,
        client_of(slack),
        {runs.kind: runs},
        lambda: settings,
        monotonic=given.monotonic,
    )


@contextmanager
def sender_rig(stage: Stage, url: str, **slack_settings: object) -> Iterator[SenderRig]:
    """A fresh workspace and database, and a sender between them."""
    given, runs = Time(), Runs()
    with stage.workspace(given.monotonic, TimedClock(given)) as slack:
        create_tables(url)
        database = TimedDatabase(url, given)
        settings = settings_for(slack, **slack_settings)
        sender = sender_for(slack, database, runs, given, settings)
        try:
            yield SenderRig(slack, database, sender, runs, given, settings)
        finally:
            sender.stop()
            database.close()
