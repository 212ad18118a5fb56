"""Doctor checks of snapshots: the bot's rights and the snapshot classes of a cluster."""

from collections.abc import Iterator, Sequence
from typing import Any

from bot.cluster.cluster import Cluster
from bot.cluster.resources import (
    FOREIGN_SCHEDULES,
    SNAPSHOT,
    SNAPSHOT_ACTIONS,
    SNAPSHOT_CLASSES,
    SNAPSHOT_CONTENTS,
    SNAPSHOTS,
    STORAGE_CLASSES,
    VOLUME_REFERENCES,
    Resource,
)
from bot.cluster.rights import Needed, lacking, spelled
from bot.config import Settings, Snapshots
from bot.findings import Finding, Findings
from bot.snapshots.classes import Problem, class_for

_EVERYWHERE = (
    Needed("watch", SNAPSHOTS),
    Needed("get", SNAPSHOTS),
    Needed("watch", SNAPSHOT_CLASSES),
    Needed("get", SNAPSHOT_CONTENTS),
)
_SEVERAL = 2
_APPLY_TRIDENT = (
    "Set rights.trident in the Helm chart, or apply deploy/kubernetes/17-datasets.yaml, and"
    " 20-teams.yaml for each team's namespace."
)
_APPLY = (
    "Set rights.snapshots (with Trident also rights.trident) in the Helm chart, or apply"
    " deploy/kubernetes/10-access.yaml, and 20-teams.yaml for each team's namespace."
)


def checks(settings: Settings, cluster: Cluster) -> Findings:
    """Findings on the bot's rights and the snapshot classes, if the cluster serves snapshots.

    Raises ClusterError if the cluster cannot be reached.
    """
    if not cluster.served(SNAPSHOT):
        return
    about = f"cluster {cluster.name} snapshots"
    teams = [each for each in settings.teams.values() if cluster.name in each.reach]
    namespaces = sorted({each.on(cluster.name).namespace for each in teams})
    needed = list(_needed(cluster, namespaces))
    missing = lacking(cluster, needed)
    if missing:
        yield Finding(about, "failed", f"missing: {spelled(missing)}", _APPLY)
        return
    yield Finding(about, "ok", f"all {len(needed)} required rights are granted")
    yield from _abroad(cluster, namespaces)
    yield from _classes(settings.snapshots, cluster, about)


def _needed(cluster: Cluster, namespaces: Sequence[str]) -> Iterator[Needed]:
    """The rights that the bot needs for the resources that the cluster serves."""
    made: list[Resource[Any]] = [SNAPSHOTS]
    yield from _EVERYWHERE
    if cluster.served(SNAPSHOT_ACTIONS.group):
        yield from (Needed(verb, SNAPSHOT_ACTIONS) for verb in ("get", "watch"))
        made.append(SNAPSHOT_ACTIONS)
    for each in made:
        for namespace in namespaces:
            yield from (Needed(verb, each, namespace) for verb in ("create", "delete"))
    if cluster.served(FOREIGN_SCHEDULES.group):
        yield Needed("watch", FOREIGN_SCHEDULES)


def _abroad(cluster: Cluster, namespaces: Sequence[str]) -> Findings:
    """Whether the bot may restore snapshots of one team in the namespace of another."""
    leave = VOLUME_REFERENCES
    if len(namespaces) < _SEVERAL or not cluster.served(leave.group):
        return
    about = f"cluster {cluster.name} restores for other teams"
    verbs = ("create", "delete", "get")
    needed = [Needed(verb, leave, each) for each in namespaces for verb in verbs]
    missing = lacking(cluster, needed)
    if missing:
        says = f"/snapshot restore --to TEAM needs: {spelled(missing)}"
        yield Finding(about, "warning", says, _APPLY_TRIDENT)
        return
    yield Finding(about, "ok", f"all {len(needed)} required rights are granted")


def _classes(settings: Snapshots, cluster: Cluster, about: str) -> Findings:
    """Whether each CSI driver of a storage class has exactly one snapshot class to use."""
    there = cluster.list(SNAPSHOT_CLASSES)
    drivers = {each.provisioner for each in cluster.list(STORAGE_CLASSES)}
    for driver in sorted({each.driver for each in there} & drivers | {*settings.classes}):
        found = class_for(driver, there, settings)
        if isinstance(found, Problem):
            yield Finding(f"{about} of {driver}", "failed", found.reason.rstrip("."), found.unblock)
        else:
            yield Finding(f"{about} of {driver}", "ok", f"use class {found.name}")
