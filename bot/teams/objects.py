"""The objects of a team in its cluster, and how rows keep them."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import NAMESPACES, ROLE_BINDINGS, Resource
from bot.cluster.types.objects import ClusterObject
from bot.config import Settings, TeamCreation
from bot.errors import ConflictError
from bot.quotas.engines.definition import EngineDefinition
from bot.quotas.engines.registry import ENGINES
from bot.quotas.engines.team_objects import (
    QuotaManifests,
    QuotaUnits,
    TeamObject,
    TeamQuota,
)

_RBAC = "rbac.authorization.k8s.io"
_POD_SECURITY = "pod-security.kubernetes.io"
_ACCOUNT = "system:serviceaccount:"


def engine_of(settings: Settings, cluster: str) -> EngineDefinition:
    """The engine that the settings name for a cluster."""
    return ENGINES[settings.clusters[cluster].engine]


def committed(settings: Settings, cluster: str) -> QuotaManifests:
    """How GitOps changes the quotas of a cluster; ConflictError if they are in no manifests."""
    engine = engine_of(settings, cluster)
    if engine.teams.manifests is None:
        raise ConflictError(
            f"The quotas of cluster {cluster} are in {engine.terms.engine}'s control plane, so"
            " there is nothing to commit.",
            "Leave out `--as-patch`, or change the project there.",
        )
    return engine.teams.manifests


def kinds_of(engine: EngineDefinition) -> tuple[Resource[Any], ...]:
    """The kinds of objects that teams on an engine have."""
    return (NAMESPACES, ROLE_BINDINGS, *engine.teams.kinds)


def objects_of(
    settings: Settings, cluster: Cluster, user: str, quota: TeamQuota
) -> tuple[TeamObject, ...]:
    """All objects of a new team in the order in which they are made; `user` is the bot's own."""
    engine = engine_of(settings, cluster.name)
    units = _units(settings, cluster, engine)
    marks = {**_pod_security(settings), **engine.teams.namespace_labels(quota)}
    metadata = {"name": quota.namespace, "labels": marks}
    return (
        TeamObject(NAMESPACES, quota.namespace, None, {"metadata": metadata}),
        *_bindings(settings, quota.namespace, user),
        *engine.teams.make(quota, units),
    )


def _pod_security(settings: Settings) -> dict[str, str]:
    """The labels that keep pods of a namespace from its nodes.

    Kubernetes enforces a level on pods alone; it warns about what makes them.
    """
    level = (settings.team_creation or TeamCreation()).pod_security
    return {f"{_POD_SECURITY}/{mode}": level for mode in ("enforce", "warn")}


def _units(settings: Settings, cluster: Cluster, engine: EngineDefinition) -> QuotaUnits:
    at, creation = settings.clusters[cluster.name], settings.team_creation
    resource = at.fractions.counted(settings.quotas.resource)
    covered = {
        name: amount
        for name, amount in (creation.covered if creation else {}).items()
        if name != resource and not name.startswith(at.excluded_resources)
    }
    served = cluster.served(engine.group) if engine.group else ()
    return QuotaUnits(resource, at.fractions.per_gpu(resource), covered, served)


def _bindings(settings: Settings, namespace: str, user: str) -> Iterator[TeamObject]:
    """The bot's roles in the namespace, bound to the bot alone."""
    for role in settings.team_creation.roles if settings.team_creation else ():
        body = {
            "metadata": {"name": role},
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role},
            "subjects": [_subject(user)],
        }
        yield TeamObject(ROLE_BINDINGS, role, namespace, body)


def _subject(user: str) -> dict[str, str]:
    if user.startswith(_ACCOUNT):
        namespace, _, name = user.removeprefix(_ACCOUNT).partition(":")
        return {"kind": "ServiceAccount", "namespace": namespace, "name": name}
    return {"kind": "User", "apiGroup": _RBAC, "name": user}


def labelled(body: Mapping[str, Any], installation: str, team: str) -> dict[str, Any]:
    """The object with the labels by which it is found to be this installation's.

    An annotation has the digest of its body, by which another request's is told apart.
    """
    metadata = dict(body["metadata"])
    own = {
        labels.MANAGED_BY: labels.MANAGER,
        labels.INSTALLATION: installation,
        labels.TEAM: team,
    }
    metadata["labels"] = {**metadata.get("labels", {}), **own}
    metadata["annotations"] = {labels.MANIFEST: _digest(body)}
    return {**body, "metadata": metadata}


def is_ours(found: ClusterObject, installation: str, team: str) -> bool:
    """Whether this installation made an object, for this team."""
    at = found.labels
    return at.get(labels.INSTALLATION) == installation and at.get(labels.TEAM) == team


def is_same(found: ClusterObject, body: Mapping[str, Any]) -> bool:
    """Whether an object that is ours was created from this body."""
    return found.metadata.annotations.get(labels.MANIFEST) == _digest(body)


def _digest(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class KeptObject:
    """An object as a row keeps it."""

    kind: str
    name: str
    namespace: str | None
    body: dict[str, Any]

    @property
    def title(self) -> str:
        """The object in words, like LocalQueue team-c/gpus."""
        place = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {place}{self.name}"


def kept(objects: Sequence[TeamObject]) -> list[dict[str, Any]]:
    """Objects, as a row keeps them."""
    return [
        {"kind": o.resource.kind, "name": o.name, "namespace": o.namespace, "body": o.body}
        for o in objects
    ]


def read(rows: Sequence[Mapping[str, Any]]) -> list[KeptObject]:
    """Objects, from how a row keeps them."""
    return [KeptObject(r["kind"], r["name"], r["namespace"], r["body"]) for r in rows]


def resource_of(kind: str) -> Resource[Any]:
    """The resource of a kind of object that teams have, on whatever engine.

    A cluster's engine may have changed since the team was created.
    """
    found = known_resource(kind)
    if found is None:
        raise AssertionError(f"no team has a {kind}")
    return found


def known_resource(kind: str) -> Resource[Any] | None:
    """The same; None for a kind of object that no team has."""
    kinds = (each for engine in ENGINES.values() for each in kinds_of(engine))
    return next((each for each in kinds if each.kind == kind), None)
