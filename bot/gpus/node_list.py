"""The nodes with GPUs and the teams that hold them, as the view shows it now."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from sqlmodel import Session

from bot.cluster.cluster import Cluster
from bot.cluster.resources import HOLDERS, NODES, PODS
from bot.config import Settings
from bot.gpus.nodes import NodePool, counting_of, places
from bot.gpus.samples.holding import capacities, holders, pods_of_runs
from bot.gpus.samples.pods import live_pods
from bot.gpus.samples.sums import series
from bot.gpus.status import gpus
from bot.slack.card import Card, Table
from bot.slack.markup import Markup, plain

_HEADER = ("Node", "Type", "Pool", "Allocated", "Held by", "State")
_MOST = 40


@dataclass(frozen=True)
class NodeUse:
    """A node: its GPUs and those held by each team, in thousandths; whether it is schedulable."""

    cluster: str
    name: str
    place: NodePool
    gpus: int
    is_ready: bool
    held: Mapping[str, int]


def nodes(session: Session, settings: Settings, cluster: Cluster) -> list[NodeUse]:
    """The nodes of a cluster with GPUs, fullest first."""
    at = settings.clusters[cluster.name]
    counts = counting_of(cluster.view, settings.quotas.resource, at.fractions)
    known = live_pods(session, cluster.name)
    whose = series(session, {each.series for each in known.values()})
    held: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    there = {pod.uid: pod.spec.node_name for pod in pods_of_runs(cluster.view)}
    there |= {pod.uid: pod.spec.node_name for pod, _ in holders(cluster.view, counts)}
    for uid, node in there.items():
        each = known.get(uid)
        if each is not None:
            held[node][whose[each.series].team] += each.amount
    where = places(cluster.view, settings.gpus)
    found = [
        NodeUse(
            cluster.name,
            each.node,
            where.get(each.node, NodePool()),
            each.gpus,
            each.ready > 0,
            dict(held[each.node]),
        )
        for each in capacities(cluster.view, counts)
    ]
    return sorted(found, key=lambda each: (-sum(each.held.values()), each.name))


def nodes_card(found: Sequence[NodeUse], age_seconds: float) -> Card:
    """The nodes as a table."""
    free = sum(max(each.gpus - sum(each.held.values()), 0) for each in found if each.is_ready)
    more = f"And {len(found) - _MOST} more nodes." if len(found) > _MOST else ""
    seen = f"{int(age_seconds)} s ago" if isfinite(age_seconds) else "never"
    said = plain(f"Last update from the cluster: {seen}. Holders are recorded every minute.")
    lines = (said, *((plain(more),) if more else ())) if found else (_none(), said)
    return Card(
        "Nodes with GPUs",
        state=f"{gpus(free)} of {gpus(sum(each.gpus for each in found))} GPUs available",
        lines=lines,
        table=Table(_HEADER, tuple(map(_row, found[:_MOST]))) if found else None,
    )


def age_of(clusters: Sequence[Cluster]) -> float:
    """The age in seconds of the stalest watch of nodes or pods."""
    ages = (each.view.age_seconds(kind) for each in clusters for kind in (NODES, PODS, HOLDERS))
    return max(ages, default=float("inf"))


def _none() -> Markup:
    return plain("No nodes with GPUs found.")


def _row(each: NodeUse) -> tuple[str, ...]:
    held = sorted(each.held.items(), key=lambda item: (-item[1], item[0]))
    return (
        each.name,
        each.place.gpu_type or "unknown",
        each.place.pool or "-",
        f"{gpus(sum(each.held.values()))} of {gpus(each.gpus)}",
        ", ".join(f"{team or 'no team'} {gpus(amount)}" for team, amount in held) or "-",
        "ready" if each.is_ready else "not schedulable",
    )
