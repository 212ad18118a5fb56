"""Nodes whose GPUs nothing has held for some time, by node group, from samples and the view."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import func, select
from sqlmodel import Session, col

from bot.cluster.cluster import Cluster
from bot.cluster.holders import Holder
from bot.cluster.node_groups import (
    SYSTEM_NAMESPACE,
    NodeGroup,
    group_of,
    is_of_every_node,
    is_system,
)
from bot.cluster.resources import HOLDERS, NODES
from bot.cluster.types.objects import Node, has_condition
from bot.config import Settings
from bot.gpus.minutes import PER_HOUR, minute_of, moment_of
from bot.gpus.nodes import counting_of, places
from bot.gpus.samples.holding import (
    capacities,
    controller_of,
    holders,
    is_fresh,
    pods_of_runs,
    reservations,
)
from bot.gpus.samples.pods import PODS_KEPT_BY_NODE, last_pods
from bot.gpus.samples.sums import Who, series
from bot.gpus.tables import FIVE_MINUTES, MINUTE, Sample, Sampling

_MINUTE = timedelta(minutes=1)
_OVER = {"Succeeded", "Failed"}
# The node of pods of which it is unknown where they were: any node may have been used by them.
_UNKNOWN = ""


@dataclass(frozen=True)
class IdleNode:
    """A node whose GPUs nothing holds; `gpus` in thousandths.

    Since `since` nothing has, and before that `last`. `last` is None if nothing is known to have
    held them; the node then exists since `since`, or longer if `is_longer`. `others` are its pods
    without GPUs that other nodes have no copy of.
    """

    node: Node
    gpus: int
    gpu_type: str
    since: datetime
    is_longer: bool
    last: Who | None
    others: Sequence[Holder]


@dataclass(frozen=True)
class IdleGroup:
    """Idle nodes of one type in a group of a cluster: of its `size` nodes, `idle` are idle.

    `unobserved` is how long no sample was taken while all of them were idle.
    """

    cluster: str
    group: NodeGroup
    nodes: Sequence[IdleNode]
    idle: int
    size: int
    unobserved: timedelta

    @property
    def since(self) -> datetime:
        """Since when all of them are idle."""
        return max(each.since for each in self.nodes)

    @property
    def gpus(self) -> int:
        """Their GPUs, in thousandths."""
        return sum(each.gpus for each in self.nodes)


class Site(NamedTuple):
    """A cluster, the labels of its pools, and its GPU nodes that nothing uses now."""

    cluster: str
    pool_labels: Sequence[str]
    nodes: Sequence[Node]
    gpus: Mapping[str, int]
    types: Mapping[str, str]
    others: Mapping[str, Sequence[Holder]]
    sizes: Mapping[NodeGroup, int]


class Use(NamedTuple):
    """Who holds or held GPUs of a node, and the first minute in which they no longer did."""

    who: Who
    ended: int | None


def idle_groups(
    session: Session, settings: Settings, cluster: Cluster, now: datetime
) -> list[IdleGroup] | None:
    """The node groups of a cluster with idle nodes; None if its nodes and pods are unknown now."""
    state = session.get(Sampling, cluster.name)
    if state is None or not is_fresh(cluster.view):
        return None
    site = _site(settings, cluster)
    last = _last_uses(session, cluster)
    after = max(moment_of(state.fives_from), now - PODS_KEPT_BY_NODE)
    found: dict[tuple[NodeGroup, str], list[IdleNode]] = defaultdict(list)
    for node in site.nodes:
        each = _idle_node(site, node, last, after)
        if each is not None and now - each.since >= settings.leftovers.idle_nodes_after:
            found[group_of(node, site.pool_labels), each.gpu_type].append(each)
    idle = Counter(group for (group, _), nodes in found.items() for _ in nodes)
    groups = []
    for (group, _), nodes in sorted(found.items()):
        since = max(each.since for each in nodes)
        unobserved = _unobserved(session, state, since, now)
        groups.append(
            IdleGroup(cluster.name, group, nodes, idle[group], site.sizes[group], unobserved)
        )
    return groups


def _site(settings: Settings, cluster: Cluster) -> Site:
    view = cluster.view
    fractions = settings.clusters[cluster.name].fractions
    counts = counting_of(view, settings.quotas.resource, fractions)
    used = {pod.spec.node_name for pod in pods_of_runs(view)}
    used |= {pod.spec.node_name for pod, _ in holders(view, counts) if not is_system(pod)}
    used |= {pod.spec.node_name for pod in reservations(view)}
    gpus = {each.node: each.gpus for each in capacities(view, counts)}
    others: dict[str, list[Holder]] = defaultdict(list)
    for pod in view.all(HOLDERS):
        if pod.status.phase not in _OVER and not is_of_every_node(pod):
            others[pod.spec.node_name].append(pod)
    unused = gpus.keys() - used
    return Site(
        cluster.name,
        settings.gpus.pool_labels,
        [each for each in view.all(NODES) if each.name in unused and _may_be_billed(each)],
        gpus,
        {name: place.gpu_type for name, place in places(view, settings.gpus).items()},
        others,
        Counter(group_of(each, settings.gpus.pool_labels) for each in view.all(NODES)),
    )


def _may_be_billed(node: Node) -> bool:
    """Whether its machine is up: AKS keeps nodes that it deallocated, which are not ready."""
    return has_condition(node.status.conditions, "Ready")


def _last_uses(session: Session, cluster: Cluster) -> dict[str, Use]:
    """Who uses the GPUs of each node, or was the last to; pods of the system do not count.

    The last one of which it is unknown where it was comes under an empty name.
    """
    pods = last_pods(session, cluster.name)
    whose = series(session, {each.series for each in pods})
    checks = {
        (pod.namespace, controller_of(pod)[1])
        for pod in cluster.view.all(HOLDERS)
        if is_of_every_node(pod)
    }
    shared = {each.gpu_group for each in pods if each.amount}
    found: dict[str, Use] = {}
    for each in pods:
        if not each.amount and each.gpu_group in shared:
            continue  # it reserved a GPU for others, and ended after them
        if each.node == _UNKNOWN and each.ended is None:
            continue  # the view knows where it is, and it must hide none that ended
        who, before = whose[each.series], found.get(each.node)
        is_use = who.run_id or (
            who.namespace != SYSTEM_NAMESPACE and (who.namespace, who.name) not in checks
        )
        is_later = before is None or (
            before.ended is not None and (each.ended is None or each.ended > before.ended)
        )
        if is_use and is_later:
            found[each.node] = Use(who, each.ended)
    return found


def _idle_node(site: Site, node: Node, uses: Mapping[str, Use], after: datetime) -> IdleNode | None:
    """A node as idle; None if a pod still holds GPUs there as of the last sample."""
    last, anywhere = uses.get(node.name), uses.get(_UNKNOWN)
    if last is not None and last.ended is None:
        return None
    made = node.metadata.creation_timestamp
    ended = moment_of(last.ended) if last is not None and last.ended is not None else None
    if ended is not None and made is not None and ended <= made:
        ended = None  # of an earlier node with the same name
    if anywhere is not None and anywhere.ended is not None:
        unplaced = moment_of(anywhere.ended)
        after = max(after, unplaced)
        ended = ended if ended is not None and ended >= unplaced else None
    known_from = made if made is not None and made >= after else after
    return IdleNode(
        node,
        site.gpus[node.name],
        site.types.get(node.name, ""),
        ended or known_from,
        ended is None and known_from != made,
        last.who if last is not None and ended is not None else None,
        sorted(site.others.get(node.name, ()), key=lambda pod: (pod.namespace, pod.name)),
    )


def _unobserved(session: Session, state: Sampling, since: datetime, now: datetime) -> timedelta:
    """For how much of a time there are no samples, as far back as samples are kept."""
    rolled, end = state.rolled * PER_HOUR, minute_of(now)
    begin = max(minute_of(since), state.fives_from)
    fives = range(-(-begin // FIVE_MINUTES) * FIVE_MINUTES, rolled, FIVE_MINUTES)
    minutes = range(max(begin, rolled), end)
    missed = FIVE_MINUTES * (len(fives) - _count(session, state.cluster, FIVE_MINUTES, fives))
    return (missed + len(minutes) - _count(session, state.cluster, MINUTE, minutes)) * _MINUTE


def _count(session: Session, cluster: str, step: int, minutes: range) -> int:
    chosen = select(func.count()).where(
        col(Sample.cluster) == cluster,
        col(Sample.step) == step,
        col(Sample.minute) >= minutes.start,
        col(Sample.minute) < minutes.stop,
    )
    return session.scalar(chosen) or 0


def used_last_by(groups: Iterable[IdleGroup], team: str) -> list[IdleGroup]:
    """The groups, each with the nodes that this team was the last to use."""
    found = []
    for each in groups:
        mine = [node for node in each.nodes if node.last is not None and node.last.team == team]
        if mine:
            found.append(replace(each, nodes=mine))
    return found
