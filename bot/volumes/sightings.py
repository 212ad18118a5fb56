"""Looks every few minutes how full the capacity pools are, for those who may not wait for Azure."""

from collections.abc import Callable
from datetime import datetime

from sqlalchemy import delete
from sqlmodel import Session, col, select

from bot.clock import Clock
from bot.config import Settings
from bot.controller import Step, Trouble
from bot.due import wake
from bot.volumes.anf import Deadline, NetAppFiles
from bot.volumes.resources import Estate
from bot.volumes.tables import SeenPool

KIND, ROW = "anf-pools", "all"
LANE = "arm"
_DEADLINE_SECONDS = 25.0


def look_at_pools(settings: Settings, session: Session, now: datetime) -> None:
    """Has the pools looked at soon; also once they are not configured any more."""
    is_known = session.exec(select(SeenPool.id).limit(1)).first() is not None
    if settings.anf is not None or is_known:
        wake(session, KIND, ROW, LANE, now)


class PoolController:
    """Keeps what is known of the pools; what is not told any more is forgotten by its age."""

    kind = KIND

    def __init__(self, clock: Clock, files: NetAppFiles, settings: Callable[[], Settings]) -> None:
        self._clock = clock
        self._files = files
        self._settings = settings

    def step(self, _row_id: str, /) -> Step:
        """One look; StorageError when Azure does not tell, and then nothing changes."""
        if self._settings().anf is None:
            return Step(None, lambda session: _record(session, Estate((), ()), self._clock.now()))
        now = self._clock.now()
        found = self._files.estate(Deadline(_DEADLINE_SECONDS))
        return Step(None, lambda session: _record(session, found, now))

    def troubled(self, session: Session, row_id: str, trouble: Trouble, /) -> None:
        """Says nothing: figures that grow old count no more, and that is said where they would."""


def _record(session: Session, found: Estate, now: datetime) -> None:
    rows = {each.id.lower(): each for each in found.pools}
    session.exec(delete(SeenPool).where(col(SeenPool.id).not_in(list(rows))))
    for key, pool in rows.items():
        seen = SeenPool(
            id=key,
            name=pool.name,
            size_bytes=pool.size_bytes,
            taken_bytes=found.taken_bytes(pool),
            seen_at=now,
        )
        session.merge(seen)
