"""The whole bot without threads of its own, that dies where it is told to and comes back."""

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from sqlalchemy import event
from sqlmodel import Session
from typing_extensions import override

from bot.app import Application
from bot.config import ConfigurationFile
from bot.current import CurrentSettings
from bot.database.database import Database
from bot.people.directory import Directory
from bot.quotas.engines.opening import follow
from bot.reconcile import due
from bot.reconcile.loop import Loop
from bot.reconcile.wakeups import Wakeups
from bot.schedule import install
from bot.slack.card import Reply
from bot.slack.client import SlackClient
from bot.slack.receiving.incoming import Incoming
from bot.slack.sending.sender import Sender
from tests.bot.cluster.api.api_server import eventually
from tests.playground.cluster.served import Served
from tests.playground.slack.served import Served as SlackServed


class KilledError(BaseException):
    """The process is gone: nothing that it was about to do is done."""


class SendersDatabase(Database):
    """The bot's database on the world's time, so that what Slack kept is soon looked for."""

    def __init__(self, url: str, now: Callable[[], datetime]) -> None:
        super().__init__(url)
        self._world_now = now

    @override
    def real_now(self, session: Session) -> datetime:
        return self._world_now()


class Bot:
    """An application, its due loop and its sender; each pass is one call.

    `dies(commits, after)` has it die before or after a commit to come. One that is `dead` writes
    nothing any more; `kill` drops all that it had in memory and begins anew on its database.
    """

    def __init__(self, folder: Path, cluster: Served, slack: SlackServed) -> None:
        self.deaths = 0
        self.dead = False
        self._folder = folder
        self._cluster = cluster
        self._slack = slack
        self._left: int | None = None
        self._after = False
        self._start()

    def answer(self, incoming: Incoming) -> Reply | None:
        """What the dispatcher answers; KilledError when it died of it."""
        self._keep_time()
        return self.app.dispatcher.answer(incoming)

    def work(self) -> int:
        """One pass of everything that waits to be done; how much was."""
        self._keep_time()
        self.app.settings.refresh()
        self._hear()
        self.app.timetable.look_at_all()
        return self._loop.run_due() + self._sender.send_due()

    def is_idle(self) -> bool:
        """Whether no step could be taken now; what Slack holds back has to wait."""
        self._keep_time()
        now = self.app.clock.now()
        soonest = self.app.database.read(lambda s: due.earliest(s, self._loop.kinds))
        return (soonest is None or soonest > now) and self._wakeups.is_quiet()

    def dies(self, commits: int, *, after: bool) -> None:
        """Has it die at a commit to come, counted from 1."""
        self._left, self._after = commits, after

    def is_doomed(self) -> bool:
        """Whether it is still to die."""
        return self._left is not None

    def kill(self) -> None:
        """Ends it, however it stands, and starts another on the same database."""
        self.deaths += 1
        self.close()
        self._left, self.dead = None, False
        self._start()

    def spare(self) -> None:
        """Has it live on."""
        self._left = None

    def close(self) -> None:
        """Ends it."""
        self.app.close()
        self._own.close()

    def _start(self) -> None:
        file = ConfigurationFile(self._folder / "quartermaster.yaml")
        settings = file.load()
        self.app = app = Application(CurrentSettings(file, settings), follow(settings))
        self._own = SendersDatabase(settings.database.url, self._cluster.clock.now)
        for database in (app.database, self._own):
            event.listen(database._write, "commit", self._before_commit)
            database.on_commit(self._after_commit)
        self._keep_time()
        app.database.transaction(due.free_all)
        jobs, now = app.timetable._jobs, app.clock.now()
        app.database.transaction(lambda session: install(session, jobs, now))
        token = self._slack.workspace.credentials.bot_token
        client = SlackClient(token, self._slack.api, "T0QM")
        anew = Directory(client, app.database, app.clock).read_anew
        self._loop = Loop(app.database, app.clock, app.controllers(anew))
        self._wakeups = Wakeups(app.database, app.clock, app.watch_handlers())
        for each in app.clusters.values():
            each.on_change(self._wakeups.on_change)
        self._sender = Sender(
            self._own,
            client,
            app.renderers(),
            app.settings,
            monotonic=self._monotonic,
            may_read=app.services.access.may_read,
        )
        app.start_watching()
        eventually(lambda: all(each.view.synced for each in app.clusters.values()))

    def _hear(self) -> None:
        """What the thread of wake-ups does, without its pauses."""
        with self._wakeups._changed:
            self._wakeups._writing, self._wakeups._waiting = self._wakeups._waiting, set()
        if self._wakeups._writing:
            self._wakeups._write()

    def _monotonic(self) -> float:
        return time.monotonic() + self._cluster.clock.offset.total_seconds()

    def _keep_time(self) -> None:
        self.app.clock.shift(self._cluster.clock.offset)

    def _before_commit(self, _connection: object) -> None:
        if self.dead:
            raise KilledError
        if self._left is not None:
            self._left -= 1
            if self._left <= 0 and not self._after:
                raise KilledError

    def _after_commit(self, _topics: frozenset[str]) -> None:
        if self._left is not None and self._left <= 0 and self._after:
            raise KilledError
