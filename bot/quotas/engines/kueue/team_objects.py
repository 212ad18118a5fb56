"""The ClusterQueue and the LocalQueue of a new team."""

from dataclasses import replace

from bot.cluster.resources import CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES, RESOURCE_FLAVORS
from bot.quotas.engines.engine import Manifest, Queues
from bot.quotas.engines.team_objects import (
    QuotaUnits,
    TeamObject,
    TeamObjects,
    TeamQuota,
    one_of,
)

_NAMESPACE = "kubernetes.io/metadata.name"


def settle(asked: TeamQuota, queues: Queues) -> TeamQuota:
    """The request with its flavor; a cohort has to exist, so that a mistyped one is found."""
    flavors = sorted(each.name for each in queues.view.all(RESOURCE_FLAVORS))
    found = replace(asked, gpu_type=one_of(asked.gpu_type, flavors, "ResourceFlavor", "--type"))
    if asked.above:
        used = {each.spec.cohort for each in queues.view.all(CLUSTER_QUEUES)} - {""}
        known = used | {each.name for each in queues.view.all(COHORTS)}
        one_of(asked.above, sorted(known), "cohort", "--cohort")
    return found


def make(team: TeamQuota, units: QuotaUnits) -> tuple[TeamObject, ...]:
    """The ClusterQueue, which admits only the team's namespace, and its LocalQueue."""
    spec = {"clusterQueue": team.queue}
    return (
        TeamObject(CLUSTER_QUEUES, team.queue, None, _cluster_queue(team, units)),
        TeamObject(
            LOCAL_QUEUES, team.queue, team.namespace,
            {"metadata": {"name": team.queue}, "spec": spec},
        ),
    )  # fmt: skip


def _cluster_queue(team: TeamQuota, units: QuotaUnits) -> Manifest:
    quotas = {**units.covered, units.resource: str(team.gpus * units.per_gpu)}
    flavor = {
        "name": team.gpu_type,
        "resources": [{"name": name, "nominalQuota": value} for name, value in quotas.items()],
    }
    spec: Manifest = {
        "namespaceSelector": {"matchLabels": {_NAMESPACE: team.namespace}},
        "queueingStrategy": "BestEffortFIFO",
        "resourceGroups": [{"coveredResources": list(quotas), "flavors": [flavor]}],
        "preemption": {"withinClusterQueue": "LowerPriority"},
    }
    if team.above:
        spec["cohortName" if "v1beta2" in units.served else "cohort"] = team.above
        # What the team lends is taken back when it needs it.
        spec["preemption"] = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
    return {"metadata": {"name": team.queue}, "spec": spec}


KUEUE_TEAMS = TeamObjects(settle, make, above="cohort", kinds=(CLUSTER_QUEUES, LOCAL_QUEUES))
