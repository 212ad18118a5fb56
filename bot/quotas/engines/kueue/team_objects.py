"""The ClusterQueue and the LocalQueue of a new team."""

from dataclasses import replace
from decimal import Decimal

from bot.cluster.resources import CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES, RESOURCE_FLAVORS
from bot.cluster.types.quantities import format_quantity
from bot.quotas.engines.engine import Manifest, Queues
from bot.quotas.engines.quota import QuotaField
from bot.quotas.engines.team_objects import (
    ObjectName,
    QuotaManifests,
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
    if asked.interactive_gpus:
        wanted = asked.interactive_type or found.gpu_type
        of_sessions = one_of(wanted, flavors, "ResourceFlavor", "--interactive-type")
        found = replace(found, interactive_type=of_sessions)
    if asked.above:
        used = {each.spec.cohort for each in queues.view.all(CLUSTER_QUEUES)} - {""}
        known = used | {each.name for each in queues.view.all(COHORTS)}
        one_of(asked.above, sorted(known), "cohort", "--cohort")
    return found


def make(team: TeamQuota, units: QuotaUnits) -> tuple[TeamObject, ...]:
    """The ClusterQueue, which admits only the team's namespace, and its LocalQueue.

    A queue for sessions is in no cohort: it neither borrows nor lends, so nobody reclaims from it.
    """
    own = _pair(team, _cluster_queue(team, units))
    if not team.interactive_gpus:
        return own
    sessions = replace(team.for_sessions, above="")
    body = _cluster_queue(sessions, units)
    body["spec"]["preemption"] = {"withinClusterQueue": "Never"}
    return (*own, *_pair(sessions, body))


def _pair(team: TeamQuota, queue: Manifest) -> tuple[TeamObject, ...]:
    spec = {"clusterQueue": team.queue}
    return (
        TeamObject(CLUSTER_QUEUES, team.queue, None, queue),
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


def find(namespace: str, queue: str, queues: Queues) -> tuple[ObjectName, ...]:
    """The ClusterQueue behind the team's LocalQueue, and the LocalQueue."""
    local = queues.view.get(LOCAL_QUEUES, queue, namespace)
    if local is None:
        return ()
    behind = local.spec.cluster_queue
    return ObjectName(CLUSTER_QUEUES, behind), ObjectName(LOCAL_QUEUES, queue, namespace)


def set_quota(queue: Manifest, place: QuotaField, value: Decimal) -> None:
    """Sets a quota of a ClusterQueue."""
    for group in queue["spec"]["resourceGroups"]:
        for flavor in group["flavors"]:
            for quota in flavor["resources"]:
                if (flavor["name"], quota["name"]) == (place.flavor, place.resource):
                    quota[place.field] = format_quantity(value)


KUEUE_TEAMS = TeamObjects(
    settle=settle, make=make, manifests=QuotaManifests(find, set_quota), above="cohort",
    kinds=(CLUSTER_QUEUES, LOCAL_QUEUES),
)  # fmt: skip
