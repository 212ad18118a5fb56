"""The doctor's checks of the teams' Queues."""

from collections.abc import Mapping

from bot.cluster.cluster import Cluster
from bot.cluster.resources import KAI_QUEUES
from bot.cluster.types.kai import Queue, Resources
from bot.config import Team
from bot.findings import Finding, Findings
from bot.quotas.engines.definition import queues_of
from bot.quotas.engines.kai.queues import node_pool


def check_teams(teams: Mapping[str, Team], cluster: Cluster, about: str) -> Findings:
    """Whether each team's Queues exist, are leaves and have limits."""
    queues = {each.name: each for each in cluster.list(KAI_QUEUES)}
    for name, team in teams.items():
        for key, queue in queues_of(team):
            yield _check(queues, f"{about} {name}", f"teams.{name}.{key}", queue)


def _check(queues: Mapping[str, Queue], about: str, setting: str, name: str) -> Finding:
    queue, which = queues.get(name), f"Queue {name}"
    if queue is None:
        remedy = f"Create {which}, or set {setting}."
        return Finding(about, "failed", f"{which} is missing", remedy)
    if any(each.spec.parent_queue == name for each in queues.values()):
        remedy = f"Set {setting} to one of them."
        return Finding(about, "failed", f"{which} has child Queues", remedy)
    if queue.spec.parent_queue not in queues:
        remedy = "Set its parentQueue to an existing Queue."
        return Finding(about, "failed", f"{which} has no parent", remedy)
    pool = node_pool(queue)
    if node_pool(queues[queue.spec.parent_queue]) != pool:
        remedy = "Set its parentQueue to an existing Queue of that pool."
        return Finding(about, "failed", f"{which} has no parent in node pool {pool}", remedy)
    return _limits(queue, about, which)


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
