"""The doctor's checks of a cluster's quota engine and of the teams' queues."""

from collections.abc import Mapping

from bot.cluster import resources
from bot.cluster.cluster import Cluster
from bot.cluster.kai import Queue, Resources
from bot.cluster.resources import KAI, KUEUE
from bot.config import Team
from bot.findings import Finding, Findings


def engine_finding(engine: str, cluster: Cluster, about: str) -> Finding:
    """Checks that the configured engine is installed."""
    if engine == "none":
        return _no_engine(cluster, about)
    if engine == "kai":
        return _engine(cluster, about, ("KAI", KAI), ("kueue", KUEUE))
    return _engine(cluster, about, ("Kueue", KUEUE), ("kai", KAI))


def queue_findings(
    engine: str, teams: Mapping[str, Team], cluster: Cluster, about: str
) -> Findings:
    """Checks that runs of these teams can enter their queues."""
    if engine == "kueue":
        yield from _local_queues(teams, cluster, about)
    if engine == "kai":
        yield from _kai_queues(teams, cluster, about)


def _engine(
    cluster: Cluster, about: str, wanted: tuple[str, str], other: tuple[str, str]
) -> Finding:
    """Checks that the engine is installed; `other` is the alternative to suggest."""
    name, group = wanted
    served = cluster.served(group)
    if served:
        return Finding(f"{about} {name}", "ok", f"serves {', '.join(served)}")
    remedy = f"Install {name}, see docs."
    if cluster.served(other[1]):
        remedy = f"Set clusters.{cluster.name}.engine: {other[0]}, which is installed."
    says = "is not served, so runs would never start"
    return Finding(f"{about} {name}", "failed", says, remedy)


def _no_engine(cluster: Cluster, about: str) -> Finding:
    """Warns if an engine is installed although the configuration names none."""
    for name, setting, group in (("Kueue", "kueue", KUEUE), ("KAI", "kai", KAI)):
        if cluster.served(group):
            says = f"{name} is installed, but runs bypass it"
            remedy = f"Set clusters.{cluster.name}.engine: {setting}, unless this is intended."
            return Finding(f"{about} quotas", "warning", says, remedy)
    return Finding(f"{about} quotas", "ok", "no engine: runs start when nodes have free capacity")


def _local_queues(teams: Mapping[str, Team], cluster: Cluster, about: str) -> Findings:
    for name, team in teams.items():
        queue = cluster.get(resources.LOCAL_QUEUES, team.queue, team.namespace)
        place = f"{team.namespace}/{team.queue}"
        if queue is None:
            remedy = f"Create LocalQueue {place}, or set teams.{name}.queue."
            yield Finding(f"{about} {name}", "failed", f"LocalQueue {place} is missing", remedy)
        else:
            says = f"LocalQueue {place} points to ClusterQueue {queue.spec.cluster_queue}"
            yield Finding(f"{about} {name}", "ok", says)


def _kai_queues(teams: Mapping[str, Team], cluster: Cluster, about: str) -> Findings:
    queues = {each.name: each for each in cluster.list(resources.KAI_QUEUES)}
    parents = {each.spec.parent_queue for each in queues.values()}
    for name, team in teams.items():
        queue, which = queues.get(team.queue), f"Queue {team.queue}"
        if queue is None:
            remedy = f"Create {which}, or set teams.{name}.queue."
            yield Finding(f"{about} {name}", "failed", f"{which} is missing", remedy)
        elif queue.name in parents:
            remedy = f"Set teams.{name}.queue to one of them."
            yield Finding(f"{about} {name}", "failed", f"{which} has child Queues", remedy)
        elif queue.spec.parent_queue not in queues:
            remedy = "Set its parentQueue to an existing Queue."
            yield Finding(f"{about} {name}", "failed", f"{which} has no parent", remedy)
        else:
            yield _limits(queue, f"{about} {name}", which)


def _limits(queue: Queue, about: str, which: str) -> Finding:
    """A limit that is not set is 0, for GPUs, cores and memory alike."""
    found = queue.spec.resources or Resources()
    shares = {"cpu": found.cpu, "memory": found.memory, "gpu": found.gpu}
    unset = [name for name, share in shares.items() if share is None or not share.limit]
    if unset:
        says = f"{which} has no limit for {', '.join(unset)}, which KAI treats as a limit of 0"
        remedy = "Set them; -1 means no limit."
        return Finding(about, "warning", says, remedy)
    return Finding(about, "ok", f"{which} is a child of {queue.spec.parent_queue}")
