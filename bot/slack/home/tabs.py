"""Home tabs: who looked at theirs in the last hour, and what Slack shows there."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar, NamedTuple

from sqlalchemy import bindparam, literal, null, select, update
from sqlmodel import Field, Session, SQLModel, col

from bot.database.columns import Moment, moment_of
from bot.database.forgetting import forget_some
from bot.database.prepared import Prepared
from bot.database.topics import touch
from bot.database.upsert import Upsert

TOPIC = "home"
WATCHED = timedelta(hours=1)
"""How long a Home tab is kept up to date after its person opened it or clicked there."""

_KEPT = timedelta(days=30)
_RECALLED = timedelta(minutes=5)


class HomeTab(SQLModel, table=True):
    """The Home tab of a person who opened it; all its times are database time.

    `channel` are their direct messages with the bot. Opening it and each click there raise
    `wants`, and the publisher answers by raising `shown`. `digest` is that of the content which
    Slack shows, empty if unknown, and `view_hash` Slack's own; `access` is that of the rights by
    which it was made. After `attempts` failures in a row nothing is tried before `not_before`.
    """

    __tablename__: ClassVar[Any] = "home_tabs"

    workspace_id: str = Field(primary_key=True)
    person: str = Field(primary_key=True)
    channel: str
    seen_at: datetime = Field(sa_type=Moment, index=True)
    wants: int = 1
    shown: int = 0
    digest: str = ""
    view_hash: str = ""
    access: str = ""
    published_at: datetime | None = Field(default=None, sa_type=Moment)
    not_before: datetime | None = Field(default=None, sa_type=Moment)
    attempts: int = 0


@dataclass(frozen=True)
class HomeOpened:
    """A person opened their Home tab; `is_blank` if Slack has nothing to show there yet."""

    person: str
    channel: str
    is_blank: bool


class OpenTab(NamedTuple):
    """A Home tab that was seen lately, as the publisher needs it."""

    person: str
    channel: str
    wants: int
    shown: int
    digest: str
    view_hash: str
    attempts: int
    published_at: datetime | None
    not_before: datetime | None


_TIMES = 7  # so many columns of an open tab come before its times
_WHEN_SEEN = {"not_before": null(), "attempts": literal(0)}
_KEY = ("workspace_id", "person")
# Built once: that takes longer than to run them.
_SEEN = Upsert(
    HomeTab,
    _KEY,
    lambda new: {
        "channel": new.channel,
        "seen_at": new.seen_at,
        "wants": col(HomeTab.wants) + 1,
        **_WHEN_SEEN,
    },
)
_SEEN_BLANK = Upsert(
    HomeTab,
    _KEY,
    lambda new: {
        "channel": new.channel,
        "seen_at": new.seen_at,
        "wants": col(HomeTab.wants) + 1,
        "digest": literal(""),
        **_WHEN_SEEN,
    },
)
_OPEN = Prepared(
    select(
        col(HomeTab.person),
        col(HomeTab.channel),
        col(HomeTab.wants),
        col(HomeTab.shown),
        col(HomeTab.digest),
        col(HomeTab.view_hash),
        col(HomeTab.attempts),
        col(HomeTab.published_at),
        col(HomeTab.not_before),
    )
    .where(
        col(HomeTab.seen_at) > bindparam("since", type_=Moment()),
        col(HomeTab.workspace_id) == bindparam("workspace"),
    )
    .order_by(col(HomeTab.seen_at))
)


def seen(session: Session, workspace_id: str, opened: HomeOpened, real_now: datetime) -> None:
    """Notes that a person looks at their tab; a blank one is published whatever it showed."""
    row = {
        "workspace_id": workspace_id,
        "person": opened.person,
        "channel": opened.channel,
        "seen_at": real_now,
    }
    (_SEEN_BLANK if opened.is_blank else _SEEN)(session, row)
    touch(session, TOPIC)


def open_tabs(session: Session, workspace_id: str, real_now: datetime) -> list[OpenTab]:
    """The tabs that were seen within the hour, those first that were seen first."""
    rows = _OPEN(session, {"workspace": workspace_id, "since": real_now - WATCHED}).rows
    return [OpenTab(*row[:_TIMES], *map(moment_of, row[_TIMES:])) for row in rows]


def change(
    session: Session,
    workspace_id: str,
    person: str,
    values: dict[str, Any],
    *,
    wants: int | None = None,
) -> None:
    """Records what became of a person's tab; with `wants` only if that has not risen since."""
    of_person = [col(HomeTab.workspace_id) == workspace_id, col(HomeTab.person) == person]
    unchanged = [] if wants is None else [col(HomeTab.wants) == wants]
    session.connection().execute(update(HomeTab).where(*of_person, *unchanged).values(**values))


def access_shown(session: Session, workspace_id: str) -> dict[str, str]:
    """The rights by which each tab was made that Slack still shows, by person."""
    rows = session.connection().execute(
        select(col(HomeTab.person), col(HomeTab.access)).where(
            col(HomeTab.workspace_id) == workspace_id, col(HomeTab.access) != ""
        )
    )
    return {row.person: row.access for row in rows}


def recall(
    session: Session, workspace_id: str, people: Collection[str], real_now: datetime
) -> None:
    """Has tabs published once more although no one looks at them: rights have changed.

    One that its person has just opened is published anyway, and stays open as long as any.
    """
    seen_at = real_now - WATCHED + _RECALLED
    session.connection().execute(
        update(HomeTab)
        .where(
            col(HomeTab.workspace_id) == workspace_id,
            col(HomeTab.person).in_(people),
            col(HomeTab.seen_at) < seen_at,
        )
        .values(seen_at=seen_at, wants=col(HomeTab.wants) + 1)
    )
    touch(session, TOPIC)


def forget(session: Session, real_now: datetime) -> None:
    """Deletes the tabs of people who have not looked at them for a month."""
    forget_some(session, HomeTab, col(HomeTab.seen_at) < real_now - _KEPT)
