"""The interface of what keeps objects of teams."""

from collections.abc import Iterable
from typing import Any, Protocol

from bot.cluster.resources import Resource
from bot.cluster.types.objects import ClusterObject
from bot.errors import ClusterError


class TeamStore(Protocol):
    """Where objects of a team are kept: the cluster, or the service of its engine.

    Requests raise ClusterError. `delays` says what a deletion may wait for, as a sentence.
    """

    delays: str

    def get(
        self, resource: Resource[Any], name: str, namespace: str | None
    ) -> ClusterObject | None:
        """An object with its labels and annotations, None if not found."""
        ...

    def foresee(self, resource: Resource[Any], body: dict[str, Any], namespace: str | None) -> str:
        """What is known of an object before it is created; ClusterError if it would be refused."""
        ...

    def create(
        self, resource: Resource[Any], body: dict[str, Any], namespace: str | None
    ) -> ClusterError | None:
        """Creates an object; if its name is taken, the next step sees by whom.

        Returns the refusal if repeating cannot help; raises the ClusterError otherwise.
        """
        ...

    def delete(
        self, resource: Resource[Any], name: str, namespace: str | None, *, uid: str
    ) -> object:
        """Deletes the object with that uid; nothing happens if there is none."""
        ...

    def unready(self, found: ClusterObject) -> str:
        """What an object that exists still lacks, as a sentence; empty if it can be used."""
        ...

    def uses(self, resource: Resource[Any], name: str) -> Iterable[str]:
        """What would be lost with an object, or be left without it, as sentences with numbers."""
        ...

    def goes_along(self, resource: Resource[Any], name: str) -> str:
        """What else is deleted with an object, as words; empty for nothing."""
