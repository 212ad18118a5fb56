"""What the cluster shows of a team's objects; dry runs change nothing."""

from collections.abc import Iterator, Sequence

from bot.cluster.cluster import Cluster
from bot.cluster.resources import NAMESPACES, ROLE_BINDINGS
from bot.config import Settings
from bot.errors import ClusterError
from bot.quotas.engines.team_objects import TeamQuota
from bot.teams.decide import ObjectState, Problem, TeamObserved
from bot.teams.objects import (
    KeptObject,
    is_ours,
    is_same,
    kept,
    labelled,
    objects_of,
    read,
    resource_of,
)
from bot.teams.stores import SWITCH, TeamStores, is_in_service
from bot.teams.tables import TeamChange

_REFUSED = {"Forbidden", "OverQuota", "AlreadyExists"}


def states(
    cluster: Cluster, stores: TeamStores, team: str, objects: Sequence[KeptObject]
) -> list[ObjectState]:
    """How these objects are now."""
    return [_state(cluster, stores, team, each) for each in objects]


def dry_run(
    settings: Settings, cluster: Cluster, stores: TeamStores, row: TeamChange
) -> TeamObserved:
    """What would be made for a new team, and whether the API server would accept it."""
    quota = TeamQuota(row.namespace, row.queue, row.gpus, row.gpu_type, row.above,
                      row.interactive_gpus, row.interactive_type)  # fmt: skip
    try:
        objects = read(kept(objects_of(settings, cluster, cluster.whoami().username, quota)))
        found = states(cluster, stores, row.team, objects)
        checks = tuple(_dry_run_of(cluster, stores, row.team, each) for each in found)
    except ClusterError as error:
        if error.is_final or error.reason in _REFUSED:
            return TeamObserved(problem=Problem(error.message, error.hint))
        raise
    return TeamObserved(objects=found, checks=checks, problem=_lacking(cluster, row, found))


def _state(cluster: Cluster, stores: TeamStores, team: str, each: KeptObject) -> ObjectState:
    resource = resource_of(each.kind)
    store = stores.of(cluster, resource)
    found = store.get(resource, each.name, each.namespace)
    if found is None:
        return ObjectState(each)
    ours = is_ours(found, cluster.installation, team)
    return ObjectState(
        each,
        found.uid,
        is_ours=ours,
        is_leaving=found.metadata.deletion_timestamp is not None,
        is_other=ours and not is_same(found, each.body),
        unready=store.unready(found),
        delays=store.delays,
    )


def _dry_run_of(cluster: Cluster, stores: TeamStores, team: str, state: ObjectState) -> str:
    """What is known of an object before it is made; ClusterError if it would be refused."""
    each = state.object
    if not state.is_missing:
        return "exists already, created by Quartermaster" if state.is_ours else "exists already"
    resource = resource_of(each.kind)
    of_cluster = stores.of(cluster, NAMESPACES)
    if each.namespace is not None and of_cluster.get(NAMESPACES, each.namespace, None) is None:
        return "allowed; no dry run before its namespace exists"
    body = labelled(each.body, cluster.installation, team)
    return stores.of(cluster, resource).foresee(resource, body, each.namespace)


def _lacking(cluster: Cluster, row: TeamChange, found: Sequence[ObjectState]) -> Problem | None:
    """The rights that a dry run cannot try, since the namespace does not exist yet."""
    missing = list(_not_allowed(cluster, row, found))
    if not missing:
        return None
    return Problem(f"The bot lacks rights in cluster {cluster.name}: {', '.join(missing)}.", SWITCH)


def _not_allowed(cluster: Cluster, row: TeamChange, found: Sequence[ObjectState]) -> Iterator[str]:
    for state in found:
        each, resource = state.object, resource_of(state.object.kind)
        if not state.is_missing or resource is NAMESPACES or is_in_service(resource):
            continue
        place = row.namespace if each.namespace else None
        if not cluster.may("create", resource.group, resource.plural, namespace=place):
            yield f"create {resource.plural}"
        if resource is ROLE_BINDINGS and not cluster.may(
            "bind", resource.group, "clusterroles", name=each.name
        ):
            yield f"bind ClusterRole {each.name}"
