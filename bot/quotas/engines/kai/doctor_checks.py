"""The doctor's checks of the teams' Queues."""

from collections.abc import Mapping

from bot.cluster.cluster import Cluster
from bot.cluster.resources import KAI_QUEUES
from bot.cluster.types.kai import Queue, Resources
from bot.config import Team
from bot.findings import Finding, Findings


def check_teams(teams: Mapping[str, Team], cluster: Cluster, about: str) -> Findings:
    """Whether each team's Queue exists, is a leaf and has limits."""
    queues = {each.name: each for each in cluster.list(KAI_QUEUES)}
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
