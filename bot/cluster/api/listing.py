"""Reads a whole resource in pages."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Generic, TypeVar

from bot.cluster.api.answers import decode_page
from bot.cluster.api.connection import JSON, Connection, Request
from bot.cluster.resources import Resource
from bot.cluster.types.objects import ClusterObject
from bot.errors import ClusterError

PAGE_SIZE = 500
METADATA = f"{JSON};as=PartialObjectMetadata{{}};g=meta.k8s.io;v=v1"

T = TypeVar("T", bound=ClusterObject)


@dataclass(frozen=True)
class Listing(Generic[T]):
    """What to list: a resource, perhaps one namespace of it, perhaps selected."""

    resource: Resource[T]
    doing: str
    namespace: str | None = None
    labels: str = ""
    fields: str = ""

    def request(self, version: str, query: Mapping[str, str | int]) -> Request:
        """The request for it, with what else the query says."""
        selectors = {"labelSelector": self.labels, "fieldSelector": self.fields}
        return Request(
            self.doing,
            "GET",
            self.resource.path(version, self.namespace),
            query={**{key: value for key, value in selectors.items() if value}, **query},
            accept=METADATA.format("List") if self.resource.metadata_only else JSON,
        )


def read_all(connection: Connection, listing: Listing[T], version: str) -> tuple[list[T], str]:
    """All objects, and the resourceVersion to watch from; consistent, in pages of 500."""
    try:
        return _read(connection, listing, version, {"limit": PAGE_SIZE})
    except ClusterError as error:
        if error.status != HTTPStatus.GONE:
            raise
    # The moment of the first page was compacted away; a single page cannot be overtaken.
    return _read(connection, listing, version, {})


def _read(
    connection: Connection, listing: Listing[T], version: str, query: Mapping[str, str | int]
) -> tuple[list[T], str]:
    objects: list[T] = []
    turn = query
    while True:
        answer = connection.send(listing.request(version, turn))
        page = decode_page(answer.body, listing.resource.type, listing.doing)
        objects.extend(page.items or ())
        if not page.metadata.continue_:
            return objects, page.metadata.resource_version
        turn = {**query, "continue": page.metadata.continue_}
