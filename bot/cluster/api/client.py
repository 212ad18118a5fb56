"""Live, consistent requests for objects; each ends in seconds, well or as a ClusterError."""

import builtins
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Generic, TypeVar

import msgspec
from typing_extensions import override

from bot.cluster.api.answers import MISSING, NO_NAMESPACE, decode, sentence
from bot.cluster.api.connection import JSON, Answer, Connection, Request
from bot.cluster.api.discovery import Discovery
from bot.cluster.api.listing import METADATA, Listing, read_all
from bot.cluster.api.log_since import LinesSince, read_since
from bot.cluster.api.log_tail import READ_BYTES, LastLines, Limits, read_tail, refuse_removed
from bot.cluster.api.whole_log import read_whole
from bot.cluster.resources import PODS, Resource
from bot.cluster.types.objects import ClusterObject
from bot.errors import ClusterError

_LET_IT_GO = "A platform admin must allow Quartermaster to delete it, or delete it by hand."

T = TypeVar("T", bound=ClusterObject)

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"


@dataclass(frozen=True)
class Target(Generic[T]):
    """What a request is about."""

    resource: Resource[T]
    name: str = ""
    namespace: str | None = None

    @override
    def __str__(self) -> str:
        what = f"{self.resource.kind} {self.name}" if self.name else self.resource.plural
        return f"{what} in namespace {self.namespace}" if self.namespace else what

    def path(self, version: str, method: str) -> str:
        """The URL path of the object; creations are posted to the path of the collection."""
        return self.resource.path(version, self.namespace, "" if method == "POST" else self.name)


@dataclass(frozen=True)
class LogSource:
    """A log to read: of a container as it runs now, or as it ran before its last restart."""

    pod: str
    namespace: str
    container: str
    is_previous: bool = False


class Client:
    """Requests to one cluster, in terms of resources."""

    def __init__(self, name: str, connection: Connection) -> None:
        self.name = name
        self._connection = connection
        self._discovery = Discovery(connection, name)

    def get(self, resource: Resource[T], name: str, namespace: str | None = None) -> T | None:
        """The object, None when it does not exist."""
        try:
            return self._exchange("Reading", "GET", Target(resource, name, namespace))
        except ClusterError as error:
            if error.reason == "NotFound":
                return None
            raise

    def manifest(
        self, resource: Resource[T], name: str, namespace: str | None = None
    ) -> dict[str, Any] | None:
        """The object with all that the server has of it, None when it does not exist."""
        request = self._request("Reading", "GET", Target(resource, name, namespace))
        try:
            body = self._send(request).body
        except ClusterError as error:
            if error.reason == "NotFound":
                return None
            raise
        return decode(body, dict[str, Any], request.doing)

    def list(
        self,
        resource: Resource[T],
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
    ) -> builtins.list[T]:
        """All objects, or those of a namespace, that the selectors choose."""
        doing = self._doing("Listing", Target(resource, "", namespace))
        listing = Listing(resource, doing, namespace, labels, fields)
        return read_all(self._connection, listing, self._discovery.version(resource))[0]

    def create(
        self,
        resource: Resource[T],
        body: Mapping[str, object],
        namespace: str | None = None,
        *,
        is_trial: bool = False,
        is_strict: bool = False,
    ) -> T:
        """The new object; ClusterError "AlreadyExists" when its name is taken.

        A trial makes nothing and shows what webhooks would make of it. Strictly, "BadRequest" is
        what fields get that the server does not know; they are dropped otherwise.
        """
        version = self._discovery.version(resource)
        group_version = f"{resource.group}/{version}".lstrip("/")
        metadata = body.get("metadata")
        name = metadata.get("name", "") if isinstance(metadata, Mapping) else ""
        whole = {"apiVersion": group_version, "kind": resource.kind, **body}
        target = Target(resource, name, namespace)
        request = self._request("Creating", "POST", target, whole)
        told = {"dryRun": "All"} if is_trial else {}
        told |= {"fieldValidation": "Strict"} if is_strict else {}
        request = replace(request, query={**request.query, **told})
        try:
            made = self._send(request)
        except ClusterError as error:
            if error.reason != "NotFound" or namespace is None:
                raise
            # What is made cannot be missing itself.
            code, said = error.status, error.message
            raise ClusterError(said, NO_NAMESPACE, status=code, reason=MISSING) from error
        return decode(made.body, resource.type, request.doing)

    def patch_json(
        self,
        resource: Resource[T],
        name: str,
        operations: Sequence[Mapping[str, object]],
        namespace: str | None = None,
    ) -> T:
        """The object after a JSON Patch; ClusterError "Invalid" when one of its tests fails."""
        target = Target(resource, name, namespace)
        return self._exchange("Changing", "PATCH", target, operations, JSON_PATCH)

    def patch_merge(
        self,
        resource: Resource[T],
        name: str,
        body: Mapping[str, object],
        namespace: str | None = None,
    ) -> T:
        """The object after a merge patch: null removes, lists are replaced whole."""
        target = Target(resource, name, namespace)
        return self._exchange("Changing", "PATCH", target, body, MERGE_PATCH)

    def delete(
        self,
        resource: Resource[T],
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        version: str | None = None,
    ) -> bool:
        """Deletes it, and what it owns in the background; False when it, or that uid, was gone.

        ClusterError with reason Conflict if it no longer has that resource `version`.
        """
        target = Target(resource, name, namespace)
        options: dict[str, object] = {"propagationPolicy": "Background"}
        if uid is not None:
            versions = {} if version is None else {"resourceVersion": version}
            options["preconditions"] = {"uid": uid, **versions}
        try:
            self._send(self._request("Deleting", "DELETE", target, options))
        except ClusterError as error:
            if error.reason == "NotFound":
                return False
            if error.reason == "Denied":
                said, code = f"{error.message} {_LET_IT_GO}", error.status
                raise ClusterError(said, status=code, reason="Denied") from error
            if error.status != HTTPStatus.CONFLICT or uid is None:
                raise
            present = self.get(resource, name, namespace)
            if present is not None and present.uid == uid:
                raise
            return False
        return True

    def logs(
        self,
        pod: str,
        namespace: str,
        *,
        container: str,
        tail_lines: int,
        read_bytes: int = READ_BYTES,
        previous: bool = False,
    ) -> builtins.list[str]:
        """The last lines of a container; ClusterError "BadRequest" before it has started.

        Lines that are so long that they have more than `read_bytes` are not all read.
        """
        log = LogSource(pod, namespace, container, is_previous=previous)
        return self.last_lines(log, tail_lines, Limits(read_bytes)).lines

    def last_lines(self, log: LogSource, tail_lines: int, limits: Limits) -> LastLines:
        """The last lines of a container, and whether the limits left some of them out.

        ClusterError "BadRequest" before it has started, "NotFound" when its node no longer has it.
        """
        request = self._log_request(log)
        found = read_tail(self._connection, request, tail_lines, limits)
        refuse_removed(request, found)
        return found

    def whole_log(self, log: LogSource) -> LastLines:
        """All that its node still has of a container's log, as far as that may be held.

        ClusterError as for the last lines.
        """
        request = self._log_request(log)
        found = read_whole(self._connection, request)
        refuse_removed(request, found)
        return found

    def lines_since(
        self, log: LogSource, since: int | None, is_wanted: Callable[[str], bool]
    ) -> LinesSince:
        """The wanted lines of a container since a time or its beginning, with their times.

        Times are in nanoseconds since 1970. ClusterError as for the last lines.
        """
        return read_since(self._connection, self._log_request(log), since, is_wanted)

    def _log_request(self, log: LogSource) -> Request:
        doing = self._doing("Reading the log of", Target(PODS, log.pod, log.namespace))
        path = PODS.path("v1", log.namespace, log.pod) + "/log"
        before = {"previous": "true"} if log.is_previous else {}
        query = {"container": log.container} | before
        return Request(doing, "GET", path, query, accept="text/plain, */*")

    def served(self, group: str) -> builtins.list[str]:
        """The versions of an API group, the server's favourite first; empty when it has none."""
        return self._discovery.served(group)

    def server_time(self) -> datetime:
        """The API server's clock, to the second."""
        doing = f"Reading the time of cluster {self.name}"
        date = self._connection.send(Request(doing, "GET", "/version")).headers.get("Date", "")
        try:
            return parsedate_to_datetime(date)
        except ValueError as error:
            text = sentence(doing, "the response has no date")
            raise ClusterError(text, reason="Unreadable") from error

    def _exchange(
        self,
        verb: str,
        method: str,
        target: Target[T],
        body: object = None,
        content_type: str = JSON,
    ) -> T:
        request = self._request(verb, method, target, body, content_type)
        return decode(self._send(request).body, target.resource.type, request.doing)

    def _request(
        self,
        verb: str,
        method: str,
        target: Target[T],
        body: object = None,
        content_type: str = JSON,
    ) -> Request:
        return Request(
            doing=self._doing(verb, target),
            method=method,
            path=target.path(self._discovery.version(target.resource), method),
            query={"fieldManager": "quartermaster"} if method in {"POST", "PATCH"} else {},
            body=None if body is None else msgspec.json.encode(body),
            content_type=content_type,
            accept=METADATA.format("") if target.resource.metadata_only else JSON,
        )

    def _send(self, request: Request) -> Answer:
        try:
            return self._connection.send(request)
        except ClusterError as error:
            if error.reason == "NotServed":
                self._discovery.forget()
            raise

    def _doing(self, verb: str, target: Target[T]) -> str:
        return f"{verb} {target} on cluster {self.name}"
