"""The doctor's checks of the teams' LocalQueues."""

from collections.abc import Mapping

from bot.cluster.cluster import Cluster
from bot.cluster.resources import LOCAL_QUEUES
from bot.config import Team
from bot.findings import Finding, Findings


def check_teams(teams: Mapping[str, Team], cluster: Cluster, about: str) -> Findings:
    """Whether each team's LocalQueue exists."""
    for name, team in teams.items():
        queue = cluster.get(LOCAL_QUEUES, team.queue, team.namespace)
        place = f"{team.namespace}/{team.queue}"
        if queue is None:
            remedy = f"Create LocalQueue {place}, or set teams.{name}.queue."
            yield Finding(f"{about} {name}", "failed", f"LocalQueue {place} is missing", remedy)
        else:
            says = f"LocalQueue {place} points to ClusterQueue {queue.spec.cluster_queue}"
            yield Finding(f"{about} {name}", "ok", says)
