"""Metrics of messages that Slack does not show yet."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from sqlalchemy import and_, func, select
from sqlmodel import Session, col

from bot.database.columns import Moment
from bot.gauges import GaugeSource, GaugeSpec, Reading
from bot.slack.messages import Message

_OLDEST = GaugeSpec(
    "quartermaster_outbox_oldest_seconds",
    "Age of the oldest message that Slack has never shown; 0 if there is none",
)
_FAILING = GaugeSpec(
    "quartermaster_outbox_failing_messages",
    "Messages whose last attempt to be shown has failed; they are sent again",
)


def _read(session: Session, now: datetime) -> Iterator[Reading]:
    is_open = and_(col(Message.wants) > col(Message.shown), col(Message.is_dead).is_(False))
    is_new = and_(is_open, col(Message.shown) == 0)
    oldest = session.scalar(select(func.min(col(Message.created_at), type_=Moment())).where(is_new))
    yield _OLDEST.at(now - oldest if oldest is not None else timedelta())
    failing = select(func.count()).select_from(Message).where(is_open, col(Message.attempts) > 0)
    yield _FAILING.at(session.scalar(failing) or 0)


GAUGES = GaugeSource((_OLDEST, _FAILING), _read)
