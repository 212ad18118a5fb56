"""Where the objects of teams are kept: in the cluster, or in the service of its engine."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bot.cluster.cluster import Cluster
from bot.cluster.resources import NAMESPACES, Resource
from bot.cluster.types.objects import ClusterObject
from bot.errors import ClusterError
from bot.quotas.engines.engine import EngineTerms, Manifest
from bot.quotas.engines.registry import ENGINES, Engines
from bot.quotas.engines.team_store import TeamStore
from bot.reconcile.frame import create_once
from bot.teams.uses import in_namespace, secrets_in

SWITCH = (
    "With `team_creation` in its configuration, the Helm chart grants them: upgrade the release, or"
    " apply deploy/kubernetes/team-creation."
)
HOPELESS = ("Forbidden", "OverQuota")


def service_of(resource: Resource[Any]) -> EngineTerms | None:
    """The words of the engine whose service has objects of that kind; None for Kubernetes."""
    return next((each.terms for each in ENGINES.values() if resource in each.polled), None)


def is_in_service(resource: Resource[Any]) -> bool:
    """Whether objects of that kind are outside Kubernetes, in the service of an engine."""
    return service_of(resource) is not None


class TeamStores:
    """Finds what keeps an object of a team; a cluster's engine may have changed since."""

    def __init__(self, engines: Engines) -> None:
        self._engines = engines

    def of(self, cluster: Cluster, resource: Resource[Any]) -> TeamStore:
        """What keeps objects of that kind; ClusterError if its service is not configured."""
        terms = service_of(resource)
        if terms is None:
            return ClusterStore(cluster)
        engine = self._engines.of(cluster.name)
        if engine.store is None:
            raise ClusterError(
                f"Cluster {cluster.name} no longer has engine {terms.engine}, which keeps the"
                f" team's {terms.queue}. Configure it again.",
                reason="Unreachable",
            )
        return engine.store


class ClusterStore:
    """Objects in Kubernetes."""

    delays = "Kubernetes waits for what its finalizers name."

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def get(
        self, resource: Resource[Any], name: str, namespace: str | None
    ) -> ClusterObject | None:
        """The object, None if not found."""
        with _rights():
            found: ClusterObject | None = self._cluster.get(resource, name, namespace)
        return found

    def foresee(self, resource: Resource[Any], body: Manifest, namespace: str | None) -> str:
        """That the API server accepts the object; ClusterError if it would refuse it."""
        with _rights():
            self._cluster.create(resource, body, namespace, is_trial=True)
        return "accepted by a dry run"

    def create(
        self, resource: Resource[Any], body: Manifest, namespace: str | None
    ) -> ClusterError | None:
        """Creates the object, or returns the refusal if repeating cannot help."""
        return create_once(self._cluster, resource, body, namespace, hopeless=HOPELESS)

    def delete(
        self, resource: Resource[Any], name: str, namespace: str | None, *, uid: str
    ) -> object:
        """Deletes the object with that uid."""
        return self._cluster.delete(resource, name, namespace, uid=uid)

    def unready(self, found: ClusterObject) -> str:
        """Nothing: objects of teams can be used at once."""
        del found
        return ""

    def uses(self, resource: Resource[Any], name: str) -> Iterator[str]:
        """What is in a namespace; other objects hold nothing."""
        if resource is NAMESPACES:
            yield from in_namespace(self._cluster, name)

    def goes_along(self, resource: Resource[Any], name: str) -> str:
        """The Secrets of a namespace."""
        return secrets_in(self._cluster, name) if resource is NAMESPACES else ""


@contextmanager
def _rights() -> Iterator[None]:
    """Says of a missing right of the cluster what grants it; a service says that of its own."""
    try:
        yield
    except ClusterError as error:
        if error.reason != "Forbidden":
            raise
        raise ClusterError(
            error.message, SWITCH, status=error.status, reason=error.reason
        ) from error
