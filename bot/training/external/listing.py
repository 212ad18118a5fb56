"""External workloads in the queue of a team, from the view."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from operator import is_not

from bot.cluster import labels
from bot.cluster.types.objects import ClusterObject
from bot.cluster.view import View
from bot.config import Team
from bot.quotas import Engine
from bot.quotas.engines.admission import Blocked, Item
from bot.quotas.engines.definition import queues_of
from bot.quotas.engines.engine import EngineTerms
from bot.training.kinds import ROOTS

# Where people and tools usually note whose work something is.
OWNER_LABELS = (labels.PERSON, "owner", "user", "app.kubernetes.io/created-by", "created-by")


@dataclass(frozen=True)
class ExternalWorkload:
    """An external workload; `owner` is None when no label names one.

    `blocked` says why it is not admitted, `words` are the terms of its quota engine.
    """

    name: str
    kind: str
    uid: str
    cluster: str
    namespace: str
    queue: str
    owner: str | None
    gpus: Decimal
    is_admitted: bool
    created_at: datetime | None
    blocked: Blocked | None
    words: EngineTerms


class ExternalWorkloads:
    """Lists the workloads that this installation did not start."""

    def __init__(self, installation: str) -> None:
        self._installation = installation
        # The same tuples mean the same objects: views are immutable.
        self._ours: dict[tuple[str, str], tuple[tuple[object, ...], frozenset[str]]] = {}

    def of(self, engine: Engine, team: Team) -> list[ExternalWorkload]:
        """The live external workloads in the team's queues, oldest first."""
        view = engine.queues.view
        ours = self._uids_of_ours(engine, team.namespace)
        found = (
            _external_workload(engine, item, known)
            for _, queue in queues_of(team)
            for item in engine.queues.within(team.namespace, queue, besides=ours)
            for known in (_labels(view, item),)
            if not _is_ours(known, self._installation)
        )
        return sorted(found, key=lambda each: (each.created_at is None, each.created_at, each.name))

    def _uids_of_ours(self, engine: Engine, namespace: str) -> frozenset[str]:
        """The uids of our own objects, to which most workloads of a queue belong."""
        roots = tuple(engine.queues.view.all(root.resource, namespace) for root in ROOTS)
        seen, uids = self._ours.get((engine.cluster, namespace), ((), frozenset()))
        if len(seen) != len(roots) or any(map(is_not, seen, roots)):
            uids = frozenset(
                root.metadata.uid
                for found in roots
                for root in found
                if _is_ours(root.metadata.labels, self._installation)
            )
            self._ours[engine.cluster, namespace] = (roots, uids)
        return uids


def _external_workload(engine: Engine, item: Item, known: Mapping[str, str]) -> ExternalWorkload:
    return ExternalWorkload(
        name=item.name,
        kind=item.kind,
        uid=item.uid,
        cluster=engine.cluster,
        namespace=item.namespace,
        queue=item.queue,
        owner=next((known[label] for label in OWNER_LABELS if known.get(label)), None),
        gpus=item.gpus,
        is_admitted=item.is_admitted,
        created_at=item.created_at,
        blocked=item.blocked,
        words=engine.words,
    )


def _is_ours(known: Mapping[str, str], installation: str) -> bool:
    return known.get(labels.INSTALLATION) == installation and labels.RUN in known


def _labels(view: View, item: Item) -> dict[str, str]:
    """The labels of the queued object and of its owner, which take precedence."""
    root = root_in(view, item.kind, item.name, item.namespace)
    return {**item.labels, **(root.labels if root else {})}


def root_in(view: View, kind: str, name: str, namespace: str) -> ClusterObject | None:
    """The object of that kind and name in the view, if a run can be such an object."""
    known = (each.resource for each in ROOTS if each.kind == kind)
    roots = (view.get(resource, name, namespace) for resource in known)
    return next((each for each in roots if each is not None), None)
