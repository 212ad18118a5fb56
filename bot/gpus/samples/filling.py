"""Fills minutes without samples from the requests that kube-state-metrics reported."""

from collections.abc import Iterator, Mapping, Sequence

from sqlalchemy import or_, select
from sqlmodel import Session, col

from bot.cluster.cluster import Cluster
from bot.config import Settings
from bot.gpus.amounts import WHOLE, Amounts
from bot.gpus.minutes import moment_of
from bot.gpus.nodes import NodePool, places
from bot.gpus.samples import owners
from bot.gpus.samples.owners import Owner
from bot.gpus.samples.pods import KnownPod, NewPod, keep_pods
from bot.gpus.sources.source import PodName, Request, Requests
from bot.gpus.tables import What
from bot.training.tables import Run


class Filling:
    """Fills the minutes of one cluster; newly found pods are added to `pods`."""

    def __init__(
        self, settings: Settings, cluster: Cluster, pods: Mapping[PodName, KnownPod]
    ) -> None:
        self._cluster = cluster.name
        self._places = places(cluster.view, settings.gpus)
        self._teams = owners.teams_of(settings, cluster.name)
        self.pods = dict(pods)

    def fill(self, session: Session, told: Mapping[int, Requests]) -> dict[int, dict[int, Amounts]]:
        """The entries of these minutes; stores pods that were unknown."""
        if not told:
            return {}
        self._meet(session, told)
        capacity = {minute: self._capacity(each) for minute, each in told.items()}
        ids = owners.ids_of(session, {owner for each in capacity.values() for owner in each})
        filled = {}
        for minute, each in told.items():
            entries = {ids[owner]: Amounts(gpus) for owner, gpus in capacity[minute].items()}
            held: dict[int, int] = {}
            for request in each.pods:
                pod = self.pods[request.namespace, request.pod]
                for series, amount in self._holders(pod, request, minute):
                    held[series] = held.get(series, 0) + amount
            filled[minute] = entries | {series: Amounts(gpus) for series, gpus in held.items()}
        return filled

    def _holders(self, pod: KnownPod, request: Request, minute: int) -> Iterator[tuple[int, int]]:
        """The series that hold what a pod requests; for a shared GPU, those of its sharers."""
        if not pod.is_reservation:
            yield pod.series, pod.amount
            return
        sharers = [each for each in self.pods.values() if each.shares(pod, minute)]
        yield from ((each.series, each.amount) for each in sharers)
        if not sharers:
            yield pod.series, request.amount

    def _capacity(self, told: Requests) -> dict[Owner, int]:
        found = {Owner(What.SAMPLED, self._cluster): WHOLE}
        for node, gpus in told.nodes.items():
            place = self._places.get(node, NodePool())
            owner = Owner(What.NODES, self._cluster, gpu_type=place.gpu_type, pool=place.pool)
            found[owner] = found.get(owner, 0) + gpus
        return found

    def _meet(self, session: Session, told: Mapping[int, Requests]) -> None:
        """Attributes and stores the pods that were not seen while they existed."""
        first = {
            (each.namespace, each.pod): each
            for _, of_minute in sorted(told.items(), reverse=True)
            for each in of_minute.pods
        }
        unknown = [each for name, each in first.items() if name not in self.pods]
        runs = _runs(session, self._cluster, min(told)) if unknown else []
        new = [self._pod(each, runs) for each in unknown]
        ids = owners.ids_of(session, {each.owner for each in new})
        with_ids = [(each, ids[each.owner]) for each in new]
        keep_pods(session, self._cluster, with_ids, min(told), max(told) + 1)
        for each, series in with_ids:
            self.pods[each.namespace, each.name] = KnownPod(
                each.uid, series, each.amount, each.node, min(told), max(told) + 1
            )

    def _pod(self, each: Request, runs: Sequence[Run]) -> NewPod:
        place = self._places.get(each.node, NodePool())
        mine = [
            run
            for run in runs
            if run.namespace == each.namespace and each.pod.startswith(f"{run.job_name}-")
        ]
        if mine:
            owner = owners.of_run(max(mine, key=lambda run: len(run.job_name)), place)
        else:
            team = self._teams.get(each.namespace, "")
            owner = Owner(
                What.OTHER, self._cluster, team=team, namespace=each.namespace, name=each.pod,
                gpu_type=place.gpu_type, pool=place.pool,
            )  # fmt: skip
        uid = each.uid or f"{each.namespace}/{each.pod}"
        return NewPod(uid, each.namespace, each.pod, each.amount, owner, each.node)


def _runs(session: Session, cluster: str, since: int) -> Sequence[Run]:
    """The runs of a cluster that existed in that minute or later."""
    return session.scalars(
        select(Run).where(
            col(Run.cluster) == cluster,
            or_(col(Run.ended_at).is_(None), col(Run.ended_at) >= moment_of(since)),
        )
    ).all()
