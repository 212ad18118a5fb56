"""The settings and secrets in force: read again when they change, kept if new ones are invalid.

Teams created from Slack are rows of the database. They are part of the settings, too.
"""

import threading
from collections.abc import Callable

import structlog

from bot.config import ConfigurationFile, Secrets, Settings, TeamRows, with_slack_teams
from bot.config.file import needs_restart
from bot.errors import ConfigurationError
from bot.threads import EssentialThread

log = structlog.get_logger()

_LOOK_SECONDS = 5.0


class CurrentSettings:
    """Call it for the settings in force; they change between two calls, never within one."""

    def __init__(self, file: ConfigurationFile, settings: Settings) -> None:
        self._file = file
        self._in_file = settings
        self._settings = settings
        self._teams: Callable[[], TeamRows] = dict
        self._rows: TeamRows = {}
        self._problem: str | None = None
        self._left_out: tuple[str, ...] = ()
        self._listeners: list[Callable[[], None]] = []
        self._untold: list[Callable[[], None]] = []
        self._woken = threading.Event()
        self._thread = EssentialThread("settings", self._pass)
        self.threads = (self._thread,)

    def __call__(self) -> Settings:
        """The settings in force."""
        return self._settings

    @property
    def problem(self) -> str | None:
        """What of file and rows is not in force, and why; None if all of it is."""
        said = (*([self._problem] if self._problem else ()), *self._left_out)
        return " ".join(said) or None

    def in_file(self) -> Settings:
        """The settings in force without the teams that were created from Slack."""
        return self._in_file

    def add_teams(self, read: Callable[[], TeamRows]) -> None:
        """Adds the teams that `read` finds, now and whenever it finds others."""
        self._teams = read
        self._rows = read()
        self._put_together()

    def on_change(self, listener: Callable[[], None]) -> None:
        """Calls `listener` after other settings have come into force."""
        self._listeners.append(listener)

    def start(self) -> None:
        """Starts checking the file every few seconds."""
        self._thread.start()

    def stop(self) -> None:
        """Stops checking the file."""
        self._thread.stop()
        self._woken.set()

    def look_now(self) -> None:
        """Has the next look at file and rows taken at once; returns without waiting for it."""
        self._woken.set()

    def refresh(self) -> None:
        """Takes the file's settings if they changed and are valid, and the teams of rows."""
        rows = self._teams()  # first: if that raises, the next look finds the file still changed
        new = self._changed_file()
        if new is not None or rows != self._rows:
            self._rows = rows
            self._take(new or self._in_file)
        while self._untold:  # one that raises is called again at the next look
            self._untold[0]()
            del self._untold[0]

    def _changed_file(self) -> Settings | None:
        try:
            new = self._file.reload()
        except ConfigurationError as error:
            self._problem = error.message
            log.warning("the changed configuration was rejected", problem=error.message)
            return None
        if new is not None:
            self._problem = None
        return new

    def _take(self, new: Settings) -> None:
        later = needs_restart(self._in_file, new)
        kept = {part: getattr(self._in_file, part) for part in later}
        self._in_file = new.model_copy(update=kept)
        self._put_together()
        log.info("the configuration was reloaded", after_restart=later)
        self._untold = list(self._listeners)

    def _put_together(self) -> None:
        self._settings, self._left_out = with_slack_teams(self._in_file, self._rows)
        for each in self._left_out:
            log.warning("a team of the database does not fit the file", problem=each)

    def _pass(self) -> None:
        self._woken.wait(_LOOK_SECONDS)
        self._woken.clear()
        if not self._thread.stopping.is_set():
            self.refresh()


class CurrentSecrets:
    """Slack's tokens in force; `read` reads them from where they are kept.

    A file of a mounted Secret changes without a restart. The environment never does.
    """

    def __init__(self, read: Callable[[], Secrets]) -> None:
        self._read = read
        self._secrets = read()
        self._listeners: list[Callable[[Secrets], None]] = []
        self._thread = EssentialThread("secrets", self._pass)
        self.threads = (self._thread,)

    def __call__(self) -> Secrets:
        """The secrets in force."""
        return self._secrets

    def on_change(self, listener: Callable[[Secrets], None]) -> None:
        """Calls `listener` with other secrets once they have come into force."""
        self._listeners.append(listener)

    def start(self) -> None:
        """Starts checking them every few seconds."""
        self._thread.start()

    def stop(self) -> None:
        """Stops checking them."""
        self._thread.stop()

    def refresh(self) -> None:
        """Takes other secrets if there are some and they are complete."""
        try:
            new = self._read()
        except (ConfigurationError, OSError) as error:
            log.warning("changed secrets were rejected", problem=str(error))
            return
        if new == self._secrets:
            return
        self._secrets = new
        for listener in self._listeners:
            listener(new)
        log.info("secrets were read again")

    def _pass(self) -> None:
        if not self._thread.stopping.wait(_LOOK_SECONDS):
            self.refresh()
