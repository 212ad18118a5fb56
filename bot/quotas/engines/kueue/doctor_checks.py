"""The doctor's checks of the teams' LocalQueues."""

from collections.abc import Mapping

from bot.cluster.cluster import Cluster
from bot.cluster.resources import ADMISSION_CHECKS, CLUSTER_QUEUES, LOCAL_QUEUES
from bot.config import Team
from bot.findings import Finding, Findings
from bot.quotas.engines.definition import queues_of

_MULTIKUEUE = "kueue.x-k8s.io/multikueue"


def check_teams(teams: Mapping[str, Team], cluster: Cluster, about: str) -> Findings:
    """Whether each team's LocalQueues exist."""
    for name, team in teams.items():
        for key, queue in queues_of(team):
            yield from _check(cluster, f"{about} {name}", f"teams.{name}.{key}", team, queue)


def _check(cluster: Cluster, about: str, setting: str, team: Team, name: str) -> Findings:
    queue, place = cluster.get(LOCAL_QUEUES, name, team.namespace), f"{team.namespace}/{name}"
    if queue is None:
        remedy = f"Create LocalQueue {place}, or set {setting}."
        yield Finding(about, "failed", f"LocalQueue {place} is missing", remedy)
    else:
        says = f"LocalQueue {place} points to ClusterQueue {queue.spec.cluster_queue}"
        yield Finding(about, "ok", says)
        yield from _dispatching(queue.spec.cluster_queue, cluster, about)


def _dispatching(name: str, cluster: Cluster, about: str) -> Findings:
    """A warning if a ClusterQueue sends its work to other clusters."""
    queue = cluster.get(CLUSTER_QUEUES, name)
    for check in queue.spec.admission_checks if queue is not None else ():
        found = cluster.get(ADMISSION_CHECKS, check)
        if found is not None and found.spec.controller_name == _MULTIKUEUE:
            says = (
                f"ClusterQueue {name} sends runs to other clusters (MultiKueue, AdmissionCheck"
                f" {check}), where the bot does not see their pods"
            )
            remedy = "Use a queue without it, and compute templates for the other clusters."
            yield Finding(about, "warning", says, remedy)
