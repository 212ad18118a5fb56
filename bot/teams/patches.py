"""What GitOps would change for a team's quota, and delete with a team; read from the cluster."""

from collections.abc import Sequence
from decimal import Decimal

from bot.cluster.cluster import Cluster
from bot.cluster.resources import NAMESPACES, ROLE_BINDINGS
from bot.config import Settings, Team
from bot.errors import NotFoundError
from bot.quotas.engines.definition import queues_of
from bot.quotas.engines.engine import Queues
from bot.quotas.engines.quota import QuotaField
from bot.quotas.engines.team_objects import ObjectName
from bot.quotas.overrides.patch import BasePatch
from bot.quotas.wording import change
from bot.slack.card import Reply
from bot.teams.manifests import answer, commented, joined, stub, unmanaged, written
from bot.teams.objects import committed
from bot.teams.service import TeamLeaving
from bot.teams.uses import in_namespace

_RAISED = (
    "An override is in force on it; these values are without it. Apply them after it has ended:"
    " before that, its card reports a change from outside, and asks which value counts."
)

_ORDER = (
    "Nothing was changed. Delete these objects in this order: those that need others come first."
    " Everything else in the namespace is deleted with it."
)


def quota_patch(settings: Settings, cluster: Cluster, queues: Queues, patch: BasePatch) -> Reply:
    """The manifest of the object that holds a team's quota, with the new one."""
    row = patch.row
    held = _holder(settings, queues, row.team, patch)
    manifest = cluster.manifest(held.resource, held.name, held.namespace)
    if manifest is None:
        raise NotFoundError(f"{_title(held)} is not in cluster {cluster.name} any more.")
    found = unmanaged(manifest)
    manifests = committed(settings, cluster.name)
    for place, gpus in patch.values.items():
        manifests.set_quota(found, place, gpus * _per_gpu(settings, cluster.name, place))
    lines = (
        f"Nothing was changed. Commit {_title(held)} in place of yours: {change(row)}.",
        *((_RAISED,) if patch.is_raised else ()),
    )
    return answer(
        f"New quota of team {row.team}", lines, written(found), f"team-{row.team}-quota.yaml"
    )


def removal_patch(
    settings: Settings, leaving: TeamLeaving, places: Sequence[tuple[Cluster, Queues]]
) -> Reply:
    """The objects of a team in the order in which to delete them, for each of its clusters."""
    name, team = leaving.name, leaving.team
    parts, uses = [], list(leaving.uses)
    for cluster, queues in places:
        there = team.on(cluster.name)
        deleted, kept = _objects(settings, cluster, queues, name, there)
        heads = [f"Cluster {cluster.name}:", *kept]
        parts.append(commented(heads) + joined([stub(cluster, each) for each in deleted]))
        if ObjectName(NAMESPACES, there.namespace) in deleted:
            uses += in_namespace(cluster, there.namespace)
    entry = f"Remove `teams.{name}` from quartermaster.yaml first, so that nothing new starts."
    made = f"It was created in Slack: `/team remove {name}` deletes these and the setting."
    lines = (
        _ORDER,
        entry if leaving.is_in_file else made,
        *((f"It is still in use. {' '.join(uses)} End or delete these before.",) if uses else ()),
    )
    return answer(
        f"Removal of team {name}", lines, "---\n".join(parts), f"team-{name}-removal.yaml"
    )


def _holder(settings: Settings, queues: Queues, team: str, patch: BasePatch) -> ObjectName:
    row = patch.row
    there = settings.teams[team].on(row.cluster)
    found = committed(settings, row.cluster).find(there.namespace, there.queue, queues)
    if not found:
        raise NotFoundError(queues.words.unseen(there.queue, there.namespace, row.cluster))
    return next((each for each in found if each.name == row.queue), found[0])


def _objects(
    settings: Settings, cluster: Cluster, queues: Queues, name: str, team: Team
) -> tuple[list[ObjectName], list[str]]:
    """The team's objects that exist, the last made first, and what stays as another team's."""
    others = {
        each: other
        for other, its in settings.teams.items()
        if other != name and cluster.name in its.reach
        for each in _named(settings, cluster, queues, its.on(cluster.name))
    }
    there = [
        each
        for each in reversed(_named(settings, cluster, queues, team))
        if each in others or _exists(cluster, each)
    ]
    kept = [
        f"{_title(each)} stays: team {others[each]} uses it." for each in there if each in others
    ]
    return [each for each in there if each not in others], kept


def _named(
    settings: Settings, cluster: Cluster, queues: Queues, team: Team
) -> tuple[ObjectName, ...]:
    roles = settings.team_creation.roles if settings.team_creation else ()
    return (
        ObjectName(NAMESPACES, team.namespace),
        *(ObjectName(ROLE_BINDINGS, role, team.namespace) for role in roles),
        *(
            found
            for _, queue in queues_of(team)
            for found in committed(settings, cluster.name).find(team.namespace, queue, queues)
        ),
    )


def _exists(cluster: Cluster, each: ObjectName) -> bool:
    return cluster.get(each.resource, each.name, each.namespace) is not None


def _per_gpu(settings: Settings, cluster: str, place: QuotaField) -> Decimal:
    return Decimal(settings.clusters[cluster].fractions.per_gpu(place.resource))


def _title(each: ObjectName) -> str:
    place = f"{each.namespace}/" if each.namespace else ""
    return f"{each.resource.kind} {place}{each.name}"
