"""Whether snapshots can be taken as the cluster is set up: for `quartermaster doctor`."""

from collections.abc import Iterator, Sequence

from bot.cluster.cluster import Cluster
from bot.cluster.resources import (
    FOREIGN_SCHEDULES,
    SNAPSHOT,
    SNAPSHOT_ACTIONS,
    SNAPSHOT_CLASSES,
    STORAGE_CLASSES,
    VOLUME_REFERENCES,
)
from bot.config import Settings, Snapshots
from bot.findings import Finding, Findings
from bot.snapshots.classes import Problem, class_for

_EVERYWHERE = (
    ("watch", "volumesnapshots"),
    ("get", "volumesnapshots"),
    ("watch", "volumesnapshotclasses"),
    ("get", "volumesnapshotcontents"),
)
_IN_TEAMS = (("create", "volumesnapshots"), ("delete", "volumesnapshots"))
_SEVERAL = 2
_APPLY_TRIDENT = (
    "Apply deploy/kubernetes/17-datasets.yaml, and 20-teams.yaml for each team's namespace."
)
_APPLY = "Apply deploy/kubernetes/10-access.yaml, and 20-teams.yaml for each team's namespace."


def checks(settings: Settings, cluster: Cluster) -> Findings:
    """The bot's rights and the classes, where there are snapshots.

    ClusterError when the cluster cannot be asked.
    """
    if not cluster.served(SNAPSHOT):
        return
    about = f"cluster {cluster.name} snapshots"
    teams = [each for each in settings.teams.values() if cluster.name in each.reach]
    namespaces = sorted({each.on(cluster.name).namespace for each in teams})
    needed = list(_needed(cluster, namespaces))
    missing = [
        f"{verb} {plural}{f' in {namespace}' if namespace else ''}"
        for verb, group, plural, namespace in needed
        if not cluster.may(verb, group, plural, namespace=namespace)
    ]
    if missing:
        yield Finding(about, "failed", f"missing: {', '.join(missing)}", _APPLY)
        return
    yield Finding(about, "ok", f"all {len(needed)} rights for them are granted")
    yield from _abroad(cluster, namespaces)
    yield from _classes(settings.snapshots, cluster, about)


def _needed(
    cluster: Cluster, namespaces: Sequence[str]
) -> Iterator[tuple[str, str, str, str | None]]:
    """The rights (verb, group, plural, namespace) that the bot needs, as far as it is served."""
    yield from ((verb, SNAPSHOT, plural, None) for verb, plural in _EVERYWHERE)
    for namespace in namespaces:
        yield from ((verb, SNAPSHOT, plural, namespace) for verb, plural in _IN_TEAMS)
    actions = SNAPSHOT_ACTIONS
    if cluster.served(actions.group):
        yield from ((verb, actions.group, actions.plural, None) for verb in ("get", "watch"))
        for namespace in namespaces:
            for verb in ("create", "delete"):
                yield verb, actions.group, actions.plural, namespace
    foreign = FOREIGN_SCHEDULES
    if cluster.served(foreign.group):
        yield "watch", foreign.group, foreign.plural, None


def _abroad(cluster: Cluster, namespaces: Sequence[str]) -> Findings:
    """Whether Trident can be let restore a snapshot of one team in the namespace of another."""
    leave = VOLUME_REFERENCES
    if len(namespaces) < _SEVERAL or not cluster.served(leave.group):
        return
    about = f"cluster {cluster.name} restores for other teams"
    needed = [(verb, each) for each in namespaces for verb in ("create", "delete", "get")]
    missing = [
        f"{verb} {leave.plural} in {namespace}"
        for verb, namespace in needed
        if not cluster.may(verb, leave.group, leave.plural, namespace=namespace)
    ]
    if missing:
        says = f"/snapshot restore --to TEAM needs: {', '.join(missing)}"
        yield Finding(about, "warning", says, _APPLY_TRIDENT)
        return
    yield Finding(about, "ok", f"all {len(needed)} rights for them are granted")


def _classes(settings: Snapshots, cluster: Cluster, about: str) -> Findings:
    """Whether each driver that makes volumes has one class to take snapshots by."""
    there = cluster.list(SNAPSHOT_CLASSES)
    drivers = {each.provisioner for each in cluster.list(STORAGE_CLASSES)}
    for driver in sorted({each.driver for each in there} & drivers | {*settings.classes}):
        found = class_for(driver, there, settings)
        if isinstance(found, Problem):
            yield Finding(f"{about} of {driver}", "failed", found.reason.rstrip("."), found.unblock)
        else:
            yield Finding(f"{about} of {driver}", "ok", f"are taken by class {found.name}")
