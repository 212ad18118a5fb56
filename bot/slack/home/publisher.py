"""The publisher: keeps the Home tabs that people look at up to date."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import SystemRandom
from typing import Any, Protocol

import structlog

from bot.database.database import Database, Session
from bot.errors import ChatError, DatabaseError
from bot.slack import messages, metrics
from bot.slack.blocks import Rendered
from bot.slack.client import SlackClient
from bot.slack.home import tabs
from bot.slack.home.tabs import OpenTab
from bot.slack.sending.budgets import HOME, Budgets, Call
from bot.slack.sending.delivery import CALL_SECONDS
from bot.slack.sending.delivery_rules import OUTAGE, TOKEN
from bot.slack.web_api import RATE_LIMITED
from bot.threads import EssentialThread

log = structlog.get_logger()

PACE = timedelta(seconds=5)
"""How long changes of what a tab shows are collected before it is published again."""

CLICK_PACE = timedelta(seconds=2)
_POLL_SECONDS = 1.0
_LOOK_SECONDS = 15.0
_SOON_SECONDS = 1.0
# However much changes, looking takes a twentieth of the time.
_RESTS = 19.0
_ACCESS_SECONDS = 60.0
_FRESH = timedelta(hours=6)
_FIRST_BACK_OFF_SECONDS = 5.0
_LONGEST_BACK_OFF_SECONDS = 600.0
_OFF_SECONDS = 600.0
_TOKEN_SECONDS = 60.0
_HASH_CONFLICT, _NOT_ENABLED, _GONE = "hash_conflict", "not_enabled", "user_not_found"
_chance = SystemRandom()


@dataclass(frozen=True)
class Prepared:
    """The content of a tab, and digests of it and of the rights by which it was made."""

    digest: str
    access: str
    view: Rendered


class HomeContent(Protocol):
    """Makes the content of Home tabs."""

    def digests(self, open_tabs: Sequence[OpenTab]) -> Mapping[str, str]:
        """What each of these tabs would show now, as digests by person."""
        ...

    def prepare(self, tab: OpenTab) -> Prepared:
        """What a tab shows now."""
        ...

    def access(self, who: Sequence[str]) -> Mapping[str, str]:
        """The current rights of these people, as digests by person."""
        ...


@dataclass(frozen=True)
class WritingRights:
    """What the process may ask of Slack, and how long it is the one that writes there."""

    budgets: Budgets
    lease_seconds: Callable[[], float]


class HomePublisher:
    """Publishes Home tabs again when what they show has changed.

    Only the process that sends messages does it, within the same budgets. What a tab shows is
    compared with what it showed, so nothing is lost by a restart, nor by changes that another
    process made.
    """

    def __init__(
        self,
        database: Database,
        client: SlackClient,
        content: HomeContent,
        workspace_id: str,
        rights: WritingRights,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._client = client
        self._content = content
        self._workspace = workspace_id
        self._rights = rights
        self._monotonic = monotonic
        self._condition = threading.Condition()
        self._opened = False
        self._stale = False
        self._watched = 0
        self._settled = True
        self._pause = 0.0
        self._next_look = 0.0
        self._soonest_look = 0.0
        self._next_access = 0.0
        self._changed: frozenset[str] = frozenset()
        self._thread = EssentialThread("home", self._pass)
        self.threads = (self._thread,)
        database.on_commit(self._heard)

    def start(self) -> None:
        """Starts publishing."""
        self._thread.start()

    def stop(self) -> None:
        """Finishes the request in flight."""
        self._thread.stop()
        with self._condition:
            self._condition.notify_all()
        self._thread.join()

    def is_quiet(self) -> bool:
        """Whether no open tab waits to be looked at or published.

        What Slack keeps back, or what failed and is tried again later, does not count.
        """
        with self._condition:
            return not self._opened and self._settled and not (self._stale and self._watched)

    def publish_due(self) -> int:
        """Looks, and publishes all that may be published now, in this thread; how many."""
        published = 0
        with self._condition:
            self._opened, self._next_look = False, 0.0
        while self._work() == 0:
            published += 1
        return published

    def _heard(self, topics: frozenset[str]) -> None:
        with self._condition:
            if tabs.TOPIC in topics:
                self._opened = True
                self._condition.notify_all()
            elif messages.TOPIC in topics:  # most of what tabs show is on cards, too
                self._stale = True

    def _pass(self) -> None:
        with self._condition:
            if not self._opened and not self._thread.stopping.is_set() and self._pause > 0:
                self._condition.wait(self._pause)
            if self._thread.stopping.is_set():
                return
            self._opened, self._settled = False, False
        try:
            self._pause = self._work()
        except DatabaseError as error:
            log.warning("home tabs could not be read", error=error.message)
            self._pause = _POLL_SECONDS

    def _work(self) -> float:
        """Looks if it is time to, and publishes one tab; how long to wait before the next."""
        if self._rights.lease_seconds() < CALL_SECONDS:
            self._settle(watched=0, waits=False)
            metrics.HOME_TABS.set(0)
            return _POLL_SECONDS
        self._database.gate.yield_to_foreground()
        found, now = self._database.read(self._open)
        metrics.HOME_TABS.set(len(found))
        self._look(found)
        for tab, call in self._waiting(found, now):
            if self._rights.budgets.wait_seconds(call) == 0:
                self._publish(tab, call, now)
                return 0.0
        self._settle(watched=len(found), waits=self._waits(found, now))
        self._look_at_access(found, now)
        return _POLL_SECONDS

    def _open(self, session: Session) -> tuple[list[OpenTab], datetime]:
        now = self._database.real_now(session)
        return tabs.open_tabs(session, self._workspace, now), now

    def _settle(self, *, watched: int, waits: bool) -> None:
        with self._condition:
            self._watched, self._settled = watched, not waits

    def _look(self, found: Sequence[OpenTab]) -> None:
        """Compares what tabs would show with what they show, if that is due."""
        began = self._monotonic()
        with self._condition:
            is_stale = self._stale and began >= self._soonest_look
            is_due = is_stale or began >= self._next_look
            if not found or not is_due:
                self._changed = self._changed if found else frozenset()
                return
            self._stale = False
        digests = self._content.digests(found)
        self._changed = frozenset(
            tab.person for tab in found if digests.get(tab.person, tab.digest) != tab.digest
        )
        ended = self._monotonic()
        rest = _RESTS * (ended - began)
        self._soonest_look = ended + max(_SOON_SECONDS, rest)
        self._next_look = ended + max(_LOOK_SECONDS, rest)

    def _waiting(self, found: Sequence[OpenTab], now: datetime) -> Iterator[tuple[OpenTab, Call]]:
        """The tabs to publish now: those just opened first, then those published longest ago."""
        ready = [tab for tab in found if tab.not_before is None or tab.not_before <= now]
        for tab in ready:
            if _is_urgent(tab) and _is_rested(tab, CLICK_PACE, now):
                yield tab, Call(HOME, tab.person)
        changed = [tab for tab in ready if tab.person in self._changed and not _is_urgent(tab)]
        for tab in sorted(changed, key=lambda tab: tab.published_at or now):
            if _is_rested(tab, PACE, now):
                yield tab, Call(HOME, tab.person, is_urgent=False)

    def _waits(self, found: Sequence[OpenTab], now: datetime) -> bool:
        """Whether any tab will be published in a moment."""
        if self._rights.budgets.is_held(Call(HOME, "")):
            return False
        return any(
            (tab.not_before is None or tab.not_before <= now)
            and (_is_urgent(tab) or tab.person in self._changed)
            for tab in found
        )

    def _publish(self, tab: OpenTab, call: Call, now: datetime) -> None:
        prepared = self._content.prepare(tab)
        is_fresh = tab.published_at is not None and now - tab.published_at < _FRESH
        if prepared.digest == tab.digest and is_fresh:
            self._changed -= {tab.person}
            self._record(tab, {"shown": tab.wants, "access": prepared.access})
            return
        # All that came before may have taken longer than the lease lasts.
        if self._rights.lease_seconds() < CALL_SECONDS or not self._rights.budgets.take(call):
            return
        if tab.digest:  # what Slack shows is unknown from now on, also to who finds us killed
            self._record(tab, {"digest": ""})
        try:
            view_hash = self._client.publish_home(tab.person, prepared.view, tab.view_hash)
        except ChatError as error:
            self._failed(tab, call, error, now)
            return
        self._changed -= {tab.person}
        self._rights.budgets.succeeded()
        metrics.HOME_PUBLISHED.inc()
        shown = {"digest": prepared.digest, "access": prepared.access, "view_hash": view_hash}
        rest = {"shown": tab.wants, "published_at": now, "attempts": 0, "not_before": None}
        self._record(tab, shown | rest)

    def _failed(self, tab: OpenTab, call: Call, error: ChatError, now: datetime) -> None:
        """Has the tab published again later; its person is not bothered with it."""
        budgets = self._rights.budgets
        log.warning("a home tab could not be published", person=tab.person, code=error.code)
        if error.code == RATE_LIMITED:
            budgets.hold(call, error.retry_after_seconds)
            return
        if error.code in TOKEN or error.code == _NOT_ENABLED:
            budgets.hold(call, _OFF_SECONDS if error.code == _NOT_ENABLED else _TOKEN_SECONDS)
            return
        if error.code == _HASH_CONFLICT:  # a call whose answer was lost had its effect
            self._record(tab, {"view_hash": "", "digest": ""})
            return
        if error.code in OUTAGE:
            budgets.failed()
        seconds = min(
            _FIRST_BACK_OFF_SECONDS * 2.0 ** min(tab.attempts, 10), _LONGEST_BACK_OFF_SECONDS
        )
        later = now + timedelta(seconds=seconds * _chance.uniform(0.5, 1.0))
        if error.code == _GONE:  # their rights no longer matter to what Slack shows
            self._record(tab, {"access": ""})
        # Whoever opened or clicked the tab meanwhile does not wait.
        self._record(tab, {"attempts": tab.attempts + 1, "not_before": later}, wants=tab.wants)

    def _record(self, tab: OpenTab, values: dict[str, Any], *, wants: int | None = None) -> None:
        def work(session: Session) -> None:
            tabs.change(session, self._workspace, tab.person, values, wants=wants)

        self._database.transaction(work)

    def _look_at_access(self, found: Sequence[OpenTab], now: datetime) -> None:
        """Has tabs published again that no one looks at, if their person's rights have changed."""
        if self._monotonic() < self._next_access:
            return
        self._next_access = self._monotonic() + _ACCESS_SECONDS
        kept = self._database.read(lambda session: tabs.access_shown(session, self._workspace))
        others = sorted(kept.keys() - {tab.person for tab in found})
        current = self._content.access(others)
        lost = [who for who in others if current.get(who, kept[who]) != kept[who]]
        if lost:
            self._database.transaction(
                lambda session: tabs.recall(session, self._workspace, lost, now)
            )


def _is_urgent(tab: OpenTab) -> bool:
    return tab.wants > tab.shown


def _is_rested(tab: OpenTab, pace: timedelta, now: datetime) -> bool:
    return tab.published_at is None or now - tab.published_at >= pace
