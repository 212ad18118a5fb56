"""Message rows to be shown, and the results of showing them."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Select, and_, bindparam, case, func, or_, select
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from bot.database.columns import Moment
from bot.database.database import Database
from bot.database.leases import Lease
from bot.slack import documents
from bot.slack.client import MessageRef
from bot.slack.files import keep
from bot.slack.messages import CARD, Message
from bot.slack.sending.delivery_rules import LOOK_FIRST, Changes
from bot.slack.sending.rendering import Rendered

_MOST = 4
# All updates share one budget, which is far less than this at a time.
_MOST_UPDATES = 40


@dataclass(frozen=True)
class PendingMessage:
    """A message to be shown, and the card in whose thread it belongs."""

    row: Message
    parent: Message | None


class Outbox:
    """The rows of `messages` as the sender sees them; cards of unknown kinds are left alone."""

    def __init__(self, database: Database, lease: Lease, kinds: Collection[str]) -> None:
        self._database = database
        self._lease = lease
        self._kinds = tuple(kinds)
        self._first = self._select_first()  # it takes longer to build than to run

    def waiting(self) -> tuple[list[PendingMessage], datetime]:
        """The messages that may be shown next, most urgent first, and the database's time.

        Of those that share a channel or a budget these are the first few: the rest have to wait
        for them, and there may be many.
        """

        def work(session: Session) -> tuple[list[PendingMessage], datetime]:
            now = self._database.real_now(session)
            moments = {"now": now, "looked_for": now - LOOK_FIRST}
            rows = session.scalars(self._first, moments).all()
            parents = _parents(session, rows)
            return [PendingMessage(row, parents.get(row.parent_id or "")) for row in rows], now

        return self._database.read(work)

    def depth(self) -> int:
        """The number of messages whose current state is not shown yet."""
        return self._database.read(
            lambda session: (
                session.scalar(select(func.count()).select_from(Message).where(self._open())) or 0
            )
        )

    def is_in_doubt(self) -> bool:
        """Whether the outcome of any post is still unknown."""
        unknown = (col(Message.posting_since).is_not(None), col(Message.ts).is_(None))
        some = select(col(Message.id)).where(self._open(), *unknown, col(Message.attempts) == 0)
        return self._database.read(lambda session: session.scalar(some.limit(1)) is not None)

    def begin_post(self, message_id: str, channel: str, digest: str) -> datetime | None:
        """Records the start of a post; None if this process may no longer make it."""

        def work(session: Session) -> datetime | None:
            row = session.get_one(Message, message_id, with_for_update=True)
            if row.ts is not None or row.posting_since is not None:
                return None
            if not self._lease.is_ours(session):
                return None
            row.posting_since = self._database.real_now(session)
            row.place = channel
            row.digest = digest
            return row.posting_since

        return self._database.transaction(work)

    def posted(
        self, message_id: str, since: datetime, spot: MessageRef, rendered: Rendered
    ) -> None:
        """Records the position and content of the post started at `since`."""

        def change(row: Message, now: datetime) -> None:
            if row.ts is not None or row.posting_since != since:
                return
            row.ts, row.place = spot.ts, spot.channel
            _now_shown(row, rendered, now)

        self._change(message_id, change)

    def adopted(self, message_id: str, spot: MessageRef, rendered: Rendered) -> None:
        """Records a found post whose answer was lost; shown if its content is current."""

        def change(row: Message, now: datetime) -> None:
            if row.ts is not None:
                return
            row.ts, row.place, row.posting_since = spot.ts, spot.channel, None
            if row.digest == rendered.digest:
                _now_shown(row, rendered, now)

        self._change(message_id, change)

    def shown(self, message_id: str, rendered: Rendered) -> None:
        """Records that Slack shows this rendering."""
        self._change(message_id, lambda row, now: _now_shown(row, rendered, now))

    def uploaded(self, message_id: str, name: str, file_id: str) -> None:
        """Records that a chart picture of the message was uploaded."""

        def work(session: Session) -> None:
            keep(session, message_id, name, file_id, self._database.real_now(session))

        self._database.transaction(work)

    def content_of(self, message_id: str) -> bytes:
        """The content of a message's file."""
        return self._database.read(lambda session: documents.content_of(session, message_id))

    def brought(self, message_id: str, file_id: str) -> None:
        """Records the id of a message's uploaded file."""
        self.file_failed(message_id, {}, {"file_id": file_id})

    def shared(self, message_id: str, rendered: Rendered, ts: str | None = None) -> None:
        """Records that the file was shared, and deletes it; its position may be unknown."""

        def work(session: Session) -> None:
            row = session.get_one(Message, message_id, with_for_update=True)
            row.ts = ts
            _now_shown(row, rendered, self._database.real_now(session))
            documents.drop(session, message_id)

        self._database.transaction(work)

    def file_failed(self, message_id: str, changes: Changes, of_file: Changes) -> None:
        """Records the changes of a failure in a message and its file."""

        def work(session: Session) -> None:
            row = session.get_one(Message, message_id, with_for_update=True)
            for name, value in changes.items():
                setattr(row, name, value)
            if row.is_dead:
                documents.drop(session, message_id)
            elif of_file:
                documents.change(session, message_id, of_file)

        self._database.transaction(work)

    def linked(self, message_id: str, link: str) -> None:
        """Records the link to the card that a message is about."""

        def change(row: Message, _now: datetime) -> None:
            row.card_link = link

        self._change(message_id, change)

    def failed(self, message_id: str, changes: Changes) -> None:
        """Records the changes of a failure."""

        def change(row: Message, _now: datetime) -> None:
            for name, value in changes.items():
                setattr(row, name, value)

        self._change(message_id, change)

    def _change(self, message_id: str, change: Callable[[Message, datetime], None]) -> None:
        def work(session: Session) -> None:
            row = session.get_one(Message, message_id, with_for_update=True)
            change(row, self._database.real_now(session))

        self._database.transaction(work)

    def _select_first(self) -> Select[Message]:
        now = bindparam("now", type_=Moment())
        is_posted = col(Message.ts).is_not(None)
        order = (col(Message.shown_at).nulls_first(), col(Message.id))
        place = func.row_number().over(
            partition_by=(col(Message.channel), col(Message.detour), is_posted, col(Message.live)),
            order_by=order,
        )
        turn = func.row_number().over(partition_by=(is_posted, col(Message.live)), order_by=order)
        parent = aliased(Message)
        ranked = (
            select(col(Message.id), place.label("place"), turn.label("turn"))
            .outerjoin(parent, col(Message.parent_id) == parent.id)
            .where(self._open(), or_(is_posted, _may_be_posted(parent)))
            .where(or_(col(Message.not_before).is_(None), col(Message.not_before) <= now))
            .subquery()
        )
        return (
            select(Message)
            .join(ranked, col(Message.id) == ranked.c.id)
            .where(ranked.c.place <= _MOST)
            .where(or_(col(Message.ts).is_(None), ranked.c.turn <= _MOST_UPDATES))
            .order_by(_yields(), col(Message.shown_at).nulls_first(), col(Message.id))
        )

    def _open(self) -> ColumnElement[bool]:
        known = or_(col(Message.purpose) != CARD, col(Message.subject_kind).in_(self._kinds))
        return and_(col(Message.wants) > col(Message.shown), col(Message.is_dead).is_(False), known)


def _parents(session: Session, rows: Sequence[Message]) -> dict[str, Message]:
    ids = {row.parent_id for row in rows if row.parent_id is not None}
    found = session.scalars(select(Message).where(col(Message.id).in_(ids))) if ids else ()
    return {parent.id: parent for parent in found}


def _now_shown(row: Message, rendered: Rendered, now: datetime) -> None:
    row.shown = rendered.wants
    row.digest = rendered.digest
    row.shown_at = now
    row.posting_since = row.not_before = None
    row.attempts = 0
    row.trouble = row.trouble if row.detour else None


def _may_be_posted(parent: type[Message]) -> ColumnElement[bool]:
    """Whether a post waits neither for its parent nor for word of an earlier try."""
    has_parent = and_(col(parent.ts).is_not(None), col(parent.place).is_not(None))
    needs_none = or_(col(parent.id).is_(None), col(parent.is_dead), col(Message.detour) != 0)
    looked_for = bindparam("looked_for", type_=Moment())
    since = col(Message.posting_since)
    return and_(or_(needs_none, has_parent), or_(since.is_(None), since <= looked_for))


def _yields() -> ColumnElement[int]:
    """1 for the refresh of a live card, 0 for posts and final states, which go first."""
    refresh = and_(col(Message.live).is_(True), col(Message.ts).is_not(None))
    return case((refresh, 1), else_=0)
