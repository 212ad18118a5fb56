"""The GPUs that are free for a team: those that a run of it could start on at once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from sqlmodel import Session

from bot.cluster.cluster import Cluster
from bot.cluster.resources import NODES
from bot.config import Settings, Team
from bot.gpus.amounts import WHOLE
from bot.gpus.node_list import NodeUse, nodes
from bot.quotas import Engine, Figures, Queues
from bot.quotas.status import free_to_borrow
from bot.training.expecting import capacity, room

ZERO = Decimal(0)


@dataclass(frozen=True)
class FreeGpus:
    """The GPUs of one type that a team can use now, and those it could use if nothing else ran.

    `gpus` is None if that is unknown now; `borrowed` are those of it beyond the team's own quota.
    `gpu_type` is empty without a quota engine, which tells no types apart.
    """

    gpu_type: str
    gpus: Decimal | None
    most: Decimal
    borrowed: Decimal = ZERO

    def fits(self, wanted: Decimal) -> bool:
        """Whether so many are known to be free."""
        return self.gpus is not None and self.gpus >= wanted


class FreeGpuReader:
    """Reads from the views what is free, by the figures of `/quota status` and `/train why`.

    Without a quota engine these are the free GPUs of ready nodes, as in `/gpu nodes`, and at most
    what the team's ResourceQuota leaves.
    """

    def __init__(
        self,
        settings: Callable[[], Settings],
        clusters: Mapping[str, Cluster],
        engine: Callable[[str], Engine],
    ) -> None:
        self._settings = settings
        self._clusters = clusters
        self._engine = engine

    def free(self, session: Session, team: Team) -> tuple[FreeGpus, ...] | None:
        """What is free for the team on its cluster, by GPU type; None if its queue is unknown."""
        cluster = self._clusters.get(team.cluster)
        if cluster is None:
            return None
        engine = self._engine(team.cluster)
        queue = engine.queues.behind(team.namespace, team.queue)
        if queue is None:
            return None
        if not engine.words.unchangeable:
            found = tuple(_of_quota(engine.queues, each) for each in queue.figures)
        elif cluster.view.store(NODES).synced:
            found = (free_on_nodes(nodes(session, self._settings(), cluster), queue.figures),)
        else:
            return None
        return tuple(map(_as_unknown, found)) if engine.trouble() else found

    def unseen(self, team: Team) -> str:
        """The sentence that the team's queue was not found."""
        words = self._engine(team.cluster).words
        return words.unseen(team.queue, team.namespace, team.cluster)

    def can_grow(self, team: Team) -> bool:
        """Whether the team's quota can be raised from here."""
        return not self._engine(team.cluster).words.unchangeable


def best_of(free: Sequence[FreeGpus], gpu_type: str) -> FreeGpus | None:
    """The type with the most free GPUs, of the given one alone if it is not empty."""
    open_to = [each for each in free if gpu_type in {"", each.gpu_type}]
    return max(open_to, key=lambda each: (each.gpus or ZERO, each.most), default=None)


def free_on_nodes(found: Sequence[NodeUse], limits: Sequence[Figures]) -> FreeGpus:
    """What ready nodes have left, and at most what each ResourceQuota leaves."""
    left = sum(max(each.gpus - sum(each.held.values()), 0) for each in found if each.is_ready)
    whole = Decimal(sum(each.gpus for each in found)) / WHOLE
    rooms = [room(each, (each,)) for each in limits]
    known = [each for each in rooms if each is not None]
    free = min((Decimal(left) / WHOLE, *known))
    most = min((whole, *(each.nominal for each in limits)))
    return FreeGpus("", free if len(known) == len(rooms) else None, most)


def _of_quota(queues: Queues, own: Figures) -> FreeGpus:
    pool = queues.pool(own)
    free = room(own, pool)
    borrowed = min(free or ZERO, free_to_borrow(own, pool) or ZERO)
    return FreeGpus(own.flavor, free, capacity(own, pool), borrowed)


def _as_unknown(found: FreeGpus) -> FreeGpus:
    """The same from a view that is too old to say what is free now."""
    return replace(found, gpus=None, borrowed=ZERO)
