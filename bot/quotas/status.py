"""The quota of teams, by GPU type."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from bot.config import Team
from bot.quotas.engines.cohorts import available
from bot.quotas.engines.engine import ZERO, Figures, Queue, QueueBacklog, Queues
from bot.quotas.tables import Override


@dataclass(frozen=True)
class TypeStatus:
    """What a team may use and uses of one GPU type; None where unknown."""

    figures: Figures
    free_to_borrow: Decimal | None


@dataclass(frozen=True)
class TeamStatus:
    """A team's quota; `queue` is empty if the team's queue, a `queue_kind`, was not found.

    `trouble` says why the cluster does not answer, if so. `unchangeable` says what the cluster has
    if there are no quotas to change. `service` is what has the quotas, if it is not the cluster.
    `is_for_sessions` says that it is the team's queue of interactive sessions.
    """

    team: str
    cluster: str
    queue: str
    types: tuple[TypeStatus, ...]
    pending_workloads: int | None
    pending_gpus: Decimal | None
    age_seconds: float
    overrides: tuple[Override, ...] = ()
    queue_kind: str = "ClusterQueue"
    trouble: str = ""
    unchangeable: str = ""
    service: str = ""
    is_for_sessions: bool = False

    @property
    def whose(self) -> str:
        """The team, or the sessions of the team."""
        return f"{self.team} sessions" if self.is_for_sessions else self.team


def team_status(
    queues: Queues, name: str, team: Team, overrides: Sequence[Override], trouble: str = ""
) -> TeamStatus:
    """A team's quota in one cluster, from the view.

    `trouble` says why the cluster does not answer, if so.
    """
    queue = queues.behind(team.namespace, team.queue)
    kind, age = queues.words.queue, queues.age_seconds
    if queue is None:
        return TeamStatus(
            name,
            team.cluster,
            "",
            (),
            None,
            None,
            age,
            queue_kind=kind,
            trouble=trouble,
            service=queues.words.service,
        )
    waiting = _waiting(queues, queue)
    return TeamStatus(
        team=name,
        cluster=team.cluster,
        queue=queue.name,
        types=tuple(
            TypeStatus(each, free_to_borrow(each, queues.pool(each))) for each in queue.figures
        ),
        # Kueue's own count of them comes some seconds later.
        pending_workloads=len(waiting.items) if waiting and queue.is_judged else None,
        pending_gpus=waiting.gpus if waiting else None,
        age_seconds=age,
        overrides=tuple(overrides),
        queue_kind=kind,
        trouble=trouble,
        unchangeable=queues.words.unchangeable,
        service=queues.words.service,
    )


def _waiting(queues: Queues, queue: Queue) -> QueueBacklog | None:
    """What waits in all queues that this one consists of; None until they were read."""
    names = {each.queue for each in queue.figures} or {queue.name}
    known = [each for each in map(queues.waiting, names) if each is not None]
    if len(known) < len(names):
        return None
    items = tuple(item for each in known for item in each.items)
    return QueueBacklog(items, sum((each.gpus for each in known), ZERO))


def free_to_borrow(own: Figures, pool: Iterable[Figures]) -> Decimal | None:
    """What the queue could take above its nominal quota now; None when a figure is unknown."""
    free = available(own, pool)
    if own.reserved is None or free is None:
        return None
    return max(ZERO, free - max(ZERO, own.nominal - own.reserved))
