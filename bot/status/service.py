"""The state of the running bot: what it sees of each cluster, what is late, what is not sent."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import and_, func, select
from sqlalchemy.sql.elements import ColumnElement
from sqlmodel import Session, col

from bot.cluster.cluster import Cluster
from bot.config import Settings
from bot.reconcile import due
from bot.slack.messages import Message

_MOST_LETTERS = 10


@dataclass(frozen=True)
class ClusterStatus:
    """What the bot sees of a cluster: how old it is at most, and why it is not newer, if known."""

    name: str
    engine: str
    age_seconds: float | None
    trouble: str


@dataclass(frozen=True)
class DeadLetter:
    """A message that Slack takes nowhere; it stays in the database."""

    channel: str
    subject_kind: str
    trouble: str
    created_at: datetime


@dataclass(frozen=True)
class BotStatus:
    """The state of the bot.

    Attributes:
        clusters: what this process sees of each cluster.
        waiting: messages that Slack does not show yet.
        failing: those of them for which an attempt failed.
        dead: messages that could not be delivered.
        letters: the newest of these.
        late: by how much the most overdue row of each kind is late.
    """

    version: str
    clusters: Sequence[ClusterStatus]
    waiting: int
    failing: int
    dead: int
    letters: Sequence[DeadLetter]
    late: Mapping[str, timedelta]


class StatusService:
    """Looks at the bot itself."""

    def __init__(
        self, settings: Callable[[], Settings], clusters: Mapping[str, Cluster], version: str
    ) -> None:
        self._settings = settings
        self._clusters = clusters
        self._version = version

    def look(self, session: Session, now: datetime) -> BotStatus:
        """The state at this moment; of what follows a cluster, this process's alone."""
        is_open = and_(col(Message.wants) > col(Message.shown), col(Message.is_dead).is_(False))
        is_dead = col(Message.is_dead).is_(True)
        return BotStatus(
            version=self._version,
            clusters=[self._cluster(name, each) for name, each in self._clusters.items()],
            waiting=_count(session, is_open),
            failing=_count(session, and_(is_open, col(Message.attempts) > 0)),
            dead=_count(session, is_dead),
            letters=[
                DeadLetter(row.channel, row.subject_kind, row.trouble or "", row.created_at)
                for row in session.scalars(
                    select(Message)
                    .where(is_dead)
                    .order_by(col(Message.id).desc())
                    .limit(_MOST_LETTERS)
                )
            ],
            late=due.lag(session, now),
        )

    def _cluster(self, name: str, cluster: Cluster) -> ClusterStatus:
        known = self._settings().clusters.get(name)
        watches = [each for each in cluster.watches() if each.served]
        is_read = bool(watches) and all(each.synced for each in watches)
        age = max(each.age_seconds for each in watches) if is_read else None
        return ClusterStatus(name, known.engine if known else "removed", age, cluster.trouble)


def _count(session: Session, condition: ColumnElement[bool]) -> int:
    return session.scalar(select(func.count()).select_from(Message).where(condition)) or 0
