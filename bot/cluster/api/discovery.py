"""Which versions of an API group a cluster serves."""

import time
from http import HTTPStatus
from typing import Any

from bot.cluster.api.answers import decode
from bot.cluster.api.connection import Connection, Request
from bot.cluster.resources import Resource
from bot.cluster.types.objects import ObjectPart
from bot.errors import ClusterError

FRESH_SECONDS = 600.0
ABSENT_SECONDS = 30.0


class GroupVersion(ObjectPart, frozen=True, kw_only=True):
    """One version."""

    version: str = ""


class Group(ObjectPart, frozen=True, kw_only=True):
    """An API group."""

    versions: tuple[GroupVersion, ...] = ()


class Discovery:
    """Caches which versions are served; asks again when the cache is old or proved wrong."""

    def __init__(self, connection: Connection, cluster: str) -> None:
        self._connection = connection
        self.cluster = cluster
        self._known: dict[str, tuple[float, list[str]]] = {}

    def served(self, group: str) -> list[str]:
        """The versions of a group, the server's favourite first; empty when it has none."""
        until, versions = self._known.get(group, (0.0, []))
        if time.monotonic() >= until:
            versions = self._ask(group)
            keep = FRESH_SECONDS if versions else ABSENT_SECONDS
            self._known[group] = (time.monotonic() + keep, versions)
        return versions

    def forget(self) -> None:
        """Clears the cache, so that the server is asked again."""
        self._known.clear()

    def version(self, resource: Resource[Any]) -> str:
        """The newest version served that we can read; ClusterError "NotServed" without one."""
        if len(resource.versions) == 1:
            return resource.versions[0]
        served = self.served(resource.group)
        for version in resource.versions:
            if version in served:
                return version
        found = f"it serves {', '.join(served)}" if served else "it does not serve that group"
        raise ClusterError(
            f"Cluster {self.cluster} does not serve {resource.plural}.{resource.group} "
            f"in version {' or '.join(resource.versions)}: {found}.",
            "Install Kueue there, or remove the cluster from quartermaster.yaml.",
            reason="NotServed",
        )

    def _ask(self, group: str) -> list[str]:
        doing = f"Asking cluster {self.cluster} which versions of {group} it serves"
        try:
            answer = self._connection.send(Request(doing, "GET", f"/apis/{group}"))
        except ClusterError as error:
            # Older servers answer a bare page, newer ones a Status; both have this code.
            if error.status == HTTPStatus.NOT_FOUND:
                return []
            raise
        return [each.version for each in decode(answer.body, Group, doing).versions]
