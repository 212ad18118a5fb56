"""Notes who looks at their Home tab: who opened it, and who clicked there."""

import time

import structlog

from bot.clock import Clock
from bot.database.database import ACKNOWLEDGE_SECONDS, Database, Session
from bot.errors import DatabaseError
from bot.people import people
from bot.slack.card import Reply
from bot.slack.home import tabs
from bot.slack.home.tabs import HomeOpened
from bot.slack.receiving.incoming import Dispatcher, Incoming, StepRun

log = structlog.get_logger()


class HomeOpening:
    """A dispatcher that keeps the Home tabs of people up to date from when they open them."""

    def __init__(
        self, dispatcher: Dispatcher, database: Database, clock: Clock, workspace_id: str
    ) -> None:
        self._dispatcher = dispatcher
        self._database = database
        self._clock = clock
        self._workspace = workspace_id

    def answer(self, incoming: Incoming) -> Reply | None:
        """The reply; after a click on a Home tab the tab follows."""
        reply = self._dispatcher.answer(incoming)
        if incoming.in_home:
            try:
                self._seen(HomeOpened(incoming.person, incoming.channel, is_blank=True))
            except DatabaseError as error:  # what was asked for is done; the tab follows later
                log.warning("a click on a home tab was not noted", error=error.message)
        return reply

    def channel_changed(self, channel_id: str) -> None:
        """Tells the dispatcher."""
        self._dispatcher.channel_changed(channel_id)

    def bot_joined(self, channel_id: str, event_id: str) -> None:
        """Tells the dispatcher."""
        self._dispatcher.bot_joined(channel_id, event_id)

    def step_begun(self, run: StepRun) -> None:
        """Tells the dispatcher."""
        self._dispatcher.step_begun(run)

    def home_opened(self, opened: HomeOpened) -> None:
        """Has the tab published, and who the person is looked up if that is unknown."""
        self._seen(opened)

    def _seen(self, opened: HomeOpened) -> None:
        def work(session: Session) -> None:
            tabs.seen(session, self._workspace, opened, self._database.real_now(session))
            if people.membership(session, self._workspace, opened.person) is None:
                people.get_to_know(session, self._workspace, opened.person, self._clock.now())

        self._database.transaction(work, deadline=time.monotonic() + ACKNOWLEDGE_SECONDS)
