"""Records every minute who holds the GPUs of a cluster, from the watch cache."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from sqlmodel import Session

from bot.clock import Clock
from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.holders import Holder
from bot.cluster.types.objects import Pod
from bot.config import Settings, Team
from bot.database.database import Database
from bot.gpus.amounts import WHOLE, Amounts
from bot.gpus.minutes import minute_of
from bot.gpus.nodes import Counting, NodePool, counting_of, places
from bot.gpus.samples import measuring, owners, rollup
from bot.gpus.samples.holding import (
    capacities,
    holders,
    is_fresh,
    pods_of_runs,
    reservations,
    run_of,
)
from bot.gpus.samples.owners import Owner
from bot.gpus.samples.pods import KnownPod, NewPod, end_pods, keep_pods, live_pods
from bot.gpus.tables import What
from bot.quotas import Engine, Queue, Queues
from bot.quotas.engines.definition import queues_of
from bot.reconcile.controller import Step, Trouble
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.training.kinds import gpus_of_pod, is_known
from bot.training.spec import spec_of
from bot.training.tables import Run

KIND = "gpu-sample"
_FRESH_SECONDS = 150.0


@dataclass
class _Sample:
    """The result of one look at a cluster; amounts are in thousandths of a GPU."""

    minute: int
    held: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    new: list[NewPod] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    others: dict[Owner, int] = field(default_factory=lambda: defaultdict(int))


@dataclass(frozen=True)
class _Site:
    """A cluster, and what its pods are attributed by."""

    cluster: Cluster
    counting: Counting
    places: Mapping[str, NodePool]
    teams: Mapping[str, str]


def sample_all(settings: Settings, session: Session, now: datetime) -> None:
    """Makes every cluster due for a sample, and for a query of its metrics if it has a source."""
    for name, cluster in settings.clusters.items():
        wake(session, KIND, name, cluster_lane(name), now)
        if cluster.measures_gpus:
            wake(session, measuring.KIND, name, f"gpu-source:{name}", now)


class SampleController:
    """Takes the samples of a cluster; its rows are the clusters' names."""

    kind = KIND

    def __init__(
        self,
        database: Database,
        clock: Clock,
        settings: Callable[[], Settings],
        clusters: Mapping[str, Cluster],
        engine: Callable[[str], Engine],
    ) -> None:
        self._database = database
        self._clock = clock
        self._settings = settings
        self._clusters = clusters
        self._engine = engine
        self._without: dict[str, set[str]] = {}

    def step(self, row_id: str) -> Step:
        """Samples the view; if the view is stale, this minute stays unknown."""
        cluster, settings = self._clusters.get(row_id), self._settings()
        if cluster is None or row_id not in settings.clusters or not is_fresh(cluster.view):
            return Step(None)
        minute = minute_of(self._clock.now())
        look = self._look(cluster, settings, minute)
        is_asked = settings.clusters[row_id].measures_gpus

        def save(session: Session) -> None:
            _save(session, row_id, look)
            rollup.come_to(session, row_id, minute, settings.gpus, is_asked=is_asked)

        return Step(None, save)

    def on_failure(self, session: Session, row_id: str, trouble: Trouble, /) -> None:
        """Does nothing: the minute stays unknown."""

    def _look(self, cluster: Cluster, settings: Settings, minute: int) -> _Sample:
        fractions = settings.clusters[cluster.name].fractions
        counts = counting_of(cluster.view, settings.quotas.resource, fractions)
        site = _Site(
            cluster,
            counts,
            places(cluster.view, settings.gpus),
            owners.teams_of(settings, cluster.name),
        )
        look = _Sample(minute)
        look.others[Owner(What.SAMPLED, cluster.name)] = WHOLE
        quotas = _quota_of_teams(settings, cluster.name, self._engine(cluster.name))
        look.others.update({Owner(What.QUOTED, cluster.name): WHOLE, **quotas} if quotas else {})
        for node in capacities(cluster.view, counts):
            place = site.places.get(node.node, NodePool())
            for what, gpus in ((What.NODES, node.gpus), (What.READY, node.ready)):
                owner = Owner(what, cluster.name, gpu_type=place.gpu_type, pool=place.pool)
                look.others[owner] += gpus
        self._database.read(lambda session: self._look_at_pods(session, site, look))
        return look

    def _look_at_pods(self, session: Session, site: _Site, look: _Sample) -> None:
        known = live_pods(session, site.cluster.name)
        there: set[str] = set()
        for pod, amount in holders(site.cluster.view, site.counting):
            there.add(pod.uid)
            if pod.uid not in known:
                place = site.places.get(pod.spec.node_name, NodePool())
                owner = owners.of_holder(
                    pod, site.cluster.view, site.cluster.name, site.teams, place
                )
                look.new.append(_new(pod, amount, owner))
        self._look_at_reservations(site, known, there, look)
        pods = pods_of_runs(site.cluster.view)
        there.update(pod.uid for pod in pods)
        look.new.extend(self._new_of_runs(session, site, pods, known))
        for uid, each in known.items():
            if uid in there:
                look.held[each.series] += each.amount
            else:
                look.gone.append(uid)

    def _look_at_reservations(
        self, site: _Site, known: Mapping[str, KnownPod], there: set[str], look: _Sample
    ) -> None:
        """Records reservation pods with amount 0: figures of shared GPUs come under their names."""
        for pod in reservations(site.cluster.view):
            there.add(pod.uid)
            if pod.uid not in known:
                owner = owners.of_holder(
                    pod, site.cluster.view, site.cluster.name, site.teams, NodePool()
                )
                look.new.append(_new(pod, 0, owner))

    def _new_of_runs(
        self, session: Session, site: _Site, pods: Iterable[Pod], known: Mapping[str, KnownPod]
    ) -> list[NewPod]:
        """The new pods of runs that hold GPUs; pods without GPUs are remembered."""
        name = site.cluster.name
        fresh = [pod for pod in pods if pod.uid not in known]
        without = self._without.get(name, set()) & {pod.uid for pod in fresh}
        fresh = [pod for pod in fresh if pod.uid not in without]
        runs = owners.runs(session, {run_of(pod) for pod in fresh})
        found = []
        for pod in fresh:
            run = runs.get(run_of(pod))
            amount = _amount(run, pod)
            if run is None or not amount:
                without.add(pod.uid)
                continue
            owner = owners.of_run(run, site.places.get(pod.spec.node_name, NodePool()))
            found.append(_new(pod, amount, owner))
        self._without[name] = without
        return found


def _new(pod: Pod | Holder, amount: int, owner: Owner) -> NewPod:
    group = pod.labels.get(labels.GPU_GROUP, "")
    return NewPod(pod.uid, pod.namespace, pod.name, amount, owner, pod.spec.node_name, group)


def _amount(run: Run | None, pod: Pod) -> int:
    return int(gpus_of_pod(spec_of(run), pod) * WHOLE) if run and is_known(run) else 0


def _save(session: Session, cluster: str, look: _Sample) -> None:
    rollup.begin(session, cluster, look.minute)
    ids = owners.ids_of(session, {*look.others, *(each.owner for each in look.new)})
    held = dict(look.held)
    for each in look.new:
        series = ids[each.owner]
        held[series] = held.get(series, 0) + each.amount
    entries = {series: Amounts(amount) for series, amount in held.items() if amount}
    entries |= {ids[owner]: Amounts(amount) for owner, amount in look.others.items()}
    new = [(each, ids[each.owner]) for each in look.new]
    keep_pods(session, cluster, new, look.minute, None)
    end_pods(session, cluster, look.gone, look.minute)
    rollup.keep(session, cluster, look.minute, entries)


def _quota_of_teams(settings: Settings, cluster: str, engine: Engine) -> dict[Owner, int]:
    """Quota and borrowing by team and GPU type, in thousandths of a GPU; unknown ones are absent.

    Queues shared by several teams are left out: it is unknown which team borrows.
    """
    queues = engine.queues
    if queues.is_absent or queues.age_seconds > _FRESH_SECONDS:
        return {}
    found = {
        name: _behind(queues, team)
        for name, team in settings.teams.items()
        if cluster in team.reach
    }
    shared = Counter(queue for each in found.values() for queue in each)
    amounts: Counter[Owner] = Counter()
    for name, each in found.items():
        for queue in each.values():
            if shared[queue.name] == 1:
                amounts.update(_of(cluster, name, queue))
    return amounts


def _behind(queues: Queues, team: Team) -> dict[str, Queue]:
    """The queues of a team that are known, by their names; two can be the same."""
    found = (queues.behind(team.namespace, queue) for _, queue in queues_of(team))
    return {each.name: each for each in found if each is not None}


def _of(cluster: str, team: str, queue: Queue) -> Mapping[Owner, int]:
    found: Counter[Owner] = Counter()
    for figures in queue.figures:
        said = {What.BORROWED: figures.borrowed}
        if not figures.is_unlimited:
            said[What.QUOTA] = figures.nominal
        for what, gpus in said.items():
            if gpus is not None:
                owner = Owner(what, cluster, team=team, gpu_type=figures.flavor)
                found[owner] += _thousandths(gpus)
    return found


def _thousandths(gpus: Decimal) -> int:
    return max(int(gpus * WHOLE), 0)
