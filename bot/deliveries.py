"""Deliveries of Slack that were processed, so that a redelivery has no second effect."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar

from sqlalchemy import and_, bindparam, insert, or_, select
from sqlmodel import Field, Session, SQLModel, col

from bot.database.columns import Moment, moment_of
from bot.database.forgetting import forget_some
from bot.database.prepared import Prepared

LIFE = timedelta(hours=24)
_REPEAT = timedelta(seconds=60)
_MOST_FORGOTTEN = 5000


class Delivery(SQLModel, table=True):
    """One delivery; `likeness` is the same for the same words of the same person and place."""

    __tablename__: ClassVar[Any] = "deliveries"

    key: str = Field(primary_key=True)
    likeness: str = Field(index=True)
    at: datetime = Field(sa_type=Moment, index=True)


# Built once: that takes longer than to run them.
_REMEMBER = Prepared(insert(Delivery))
_EARLIER = Prepared(
    select(col(Delivery.key), col(Delivery.at))
    .where(
        or_(
            col(Delivery.key) == bindparam("key"),
            and_(
                col(Delivery.likeness) == bindparam("alike"),
                col(Delivery.at) > bindparam("since", type_=Moment()),
            ),
        )
    )
    .order_by(col(Delivery.at).desc())
)


def likeness(*parts: str) -> str:
    """A digest that is equal for two deliveries that ask for the same."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@dataclass(frozen=True)
class Earlier:
    """Earlier deliveries: when the same one was processed, and when a similar one last was."""

    same_at: datetime | None
    alike_at: datetime | None


def earlier(session: Session, key: str, alike: str, real_now: datetime) -> Earlier:
    """When this delivery was already processed, and when a similar one last was (1 minute)."""
    asked = {"key": key, "alike": alike, "since": real_now - _REPEAT}
    found = _EARLIER(session, asked).rows
    same = next((at for each, at in found if each == key), None)
    return Earlier(moment_of(same), moment_of(found[0][1] if found else None))


def remember(session: Session, key: str, alike: str, real_now: datetime) -> None:
    """Records the delivery in the transaction of its effect."""
    row = {"key": key, "likeness": alike, "at": real_now}
    _REMEMBER(session, row)


def forget(session: Session, real_now: datetime) -> None:
    """Deletes deliveries that Slack can no longer repeat."""
    forget_some(session, Delivery, col(Delivery.at) < real_now - LIFE, most=_MOST_FORGOTTEN)
