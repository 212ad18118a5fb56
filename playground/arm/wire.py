"""One request to Resource Manager, and its answer."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote

from playground.arm.errors import ArmError, bad

Json = dict[str, Any]
VERSIONS = ("2026-01-01", "2026-08-01")
_PERMISSIONS_VERSION = "2022-04-01"


@dataclass(frozen=True)
class Call:
    """What was asked; `base` is where the server is, for the absolute addresses in its answers."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    content: bytes
    base: str

    @classmethod
    def of(cls, scope: Any, content: bytes) -> "Call":
        """Read from an ASGI scope."""
        headers = {key.decode().lower(): value.decode() for key, value in scope["headers"]}
        query = dict(parse_qsl(scope["query_string"].decode(), keep_blank_values=True))
        base = f"http://{headers.get('host', '')}"
        return cls(scope["method"], unquote(scope["path"]), query, headers, content, base)

    @property
    def parts(self) -> list[str]:
        """The path between its slashes."""
        return [each for each in self.path.split("/") if each]

    @property
    def subscription(self) -> str:
        """The subscription that the path names; empty if it names none."""
        parts = self.parts
        is_named = len(parts) > 1 and parts[0].lower() == "subscriptions"
        return parts[1].lower() if is_named else ""

    def body(self) -> Json:
        """The JSON object that was sent; ArmError for anything else."""
        try:
            found = json.loads(self.content or b"{}")
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise ArmError(400, "InvalidRequestContent", "The request content was invalid.")
        return found

    def refuse_version(self) -> None:
        """Every request says which version of the API it speaks."""
        version = self.query.get("api-version")
        if not version:
            words = "The api-version query parameter (?api-version=) is required for all requests."
            raise ArmError(400, "MissingApiVersionParameter", words)
        is_of_permissions = "Microsoft.Authorization" in self.parts
        known = (_PERMISSIONS_VERSION,) if is_of_permissions else VERSIONS
        if version not in known:
            words = f"No registered resource provider found for API version '{version}'."
            raise ArmError(400, "NoRegisteredProviderFound", f"{words} Supported: {known}.")


@dataclass(frozen=True)
class Answer:
    """Status, headers and a JSON body; None is an empty one."""

    status: int
    body: Json | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def page(call: Call, rows: list[Json], most: int) -> Answer:
    """A list, `most` rows of it at a time."""
    token = call.query.get("$skiptoken", "0")
    if not token.isdecimal():
        raise bad("The $skiptoken is invalid.")
    first = int(token)
    body: Json = {"value": rows[first : first + most]}
    if first + most < len(rows):
        version = call.query["api-version"]
        body["nextLink"] = f"{call.base}{call.path}?api-version={version}&$skiptoken={first + most}"
    return Answer(200, body)
