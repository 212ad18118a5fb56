"""Work that one process does at a time, held by a row for as long as it is renewed."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, ClassVar

from sqlmodel import Field, Session, SQLModel

from bot.database.columns import Moment, new_id
from bot.database.database import Database


class LeaseRow(SQLModel, table=True):
    """Who holds a piece of work, and until when in database time."""

    __tablename__: ClassVar[Any] = "leases"

    name: str = Field(primary_key=True)
    holder: str
    until: datetime = Field(sa_type=Moment)


class Lease:
    """A claim of this process to the work `name`, renewed while it is asked for.

    A process that dies is followed by another once its time is over. On SQLite, where one
    server runs at a time, a new one takes over at once.
    """

    def __init__(
        self,
        database: Database,
        name: str,
        seconds: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.holder = new_id()
        self._database = database
        self._name = name
        self._seconds = seconds
        self._monotonic = monotonic
        self._until = 0.0
        self._takes_over = database.is_sqlite

    def remaining(self) -> float:
        """How many seconds of it are left for certain; 0 or less when it is not ours."""
        return self._until - self._monotonic()

    def renew(self) -> bool:
        """Whether it is ours now; takes it when it is free, and renews it in good time."""
        if self.remaining() > self._seconds * 5 / 6:
            return True
        began = self._monotonic()
        if self._database.transaction(self._take):
            self._until = began + self._seconds
            self._takes_over = False
            return True
        self._until = 0.0
        return False

    def is_ours(self, session: Session) -> bool:
        """Whether the row says so, for a transaction that is to count only then."""
        row = session.get(LeaseRow, self._name)
        if row is None or row.holder != self.holder:
            self._until = 0.0
            return False
        return True

    def release(self) -> None:
        """Lets another process have it at once."""
        self._until = 0.0
        self._database.transaction(self._give_back)

    def _take(self, session: Session) -> bool:
        now = self._database.real_now(session)
        until = now + timedelta(seconds=self._seconds)
        row = session.get(LeaseRow, self._name)
        if row is None:
            session.add(LeaseRow(name=self._name, holder=self.holder, until=until))
        elif row.holder == self.holder or row.until <= now or self._takes_over:
            row.holder, row.until = self.holder, until
        else:
            return False
        return True

    def _give_back(self, session: Session) -> None:
        if self.is_ours(session):
            session.delete(session.get_one(LeaseRow, self._name))
