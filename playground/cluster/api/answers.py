"""Requests as the API reads them, and answers as it writes them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import orjson
import yaml

from playground.cluster.objects.errors import ApiError, bad_request
from playground.cluster.objects.kinds import Object
from playground.cluster.objects.operations import Options

T = TypeVar("T")

JSON_TYPE = "application/json"


@dataclass(frozen=True)
class Call:
    """One HTTP request."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @classmethod
    def of(cls, scope: Any, body: bytes) -> "Call":
        """The request in an ASGI scope."""
        query = dict(parse_qsl(scope["query_string"].decode(), keep_blank_values=True))
        headers = {name.decode().lower(): value.decode() for name, value in scope["headers"]}
        return cls(scope["method"], scope["path"], query, headers, body)

    @property
    def wants_watch(self) -> bool:
        """Whether it asks for a stream of changes."""
        return self.query.get("watch", "").lower() in {"1", "true"}

    @property
    def content_type(self) -> str:
        """The type of the body without parameters."""
        return self.headers.get("content-type", JSON_TYPE).partition(";")[0].strip()

    @property
    def accepts(self) -> str:
        """What the client would like to read."""
        return self.headers.get("accept", "")

    def json(self) -> Any:
        """The body decoded; 400 if it cannot be."""
        if not self.body:
            return {}
        try:
            return orjson.loads(self.body)
        except orjson.JSONDecodeError as error:
            if "yaml" in self.content_type:
                return _yaml(self.body)
            raise bad_request(
                f"couldn't get version/kind; json parse error: {error.msg}"
            ) from error

    def options(self, version: str) -> Options:
        """How a write is meant."""
        agent = self.headers.get("user-agent", "unknown").partition("/")[0]
        apply = self.content_type.startswith("application/apply-patch")
        return Options(
            manager=self.query.get("fieldManager", "" if apply else agent),
            dry_run="All" in self.query.get("dryRun", ""),
            force=self.query.get("force", "").lower() in {"1", "true"},
            strictness=self.query.get("fieldValidation", "Warn") or "Warn",
            version=version,
        )


def _yaml(text: bytes) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise bad_request(f"error decoding YAML: {error}") from error


@dataclass(frozen=True)
class Answer:
    """One whole HTTP answer."""

    status: int
    body: bytes
    content_type: str = JSON_TYPE
    headers: dict[str, str] = field(default_factory=dict)


def answer(obj: Object, status: int = 200) -> Answer:
    """An object as an answer."""
    return Answer(status, orjson.dumps(obj))


def failure(error: ApiError) -> Answer:
    """A refusal as an answer."""
    seconds = error.details.get("retryAfterSeconds")
    headers = {"retry-after": str(seconds)} if seconds is not None else {}
    return Answer(error.code, orjson.dumps(error.status()), headers=headers)


def warned(result: T, warnings: Sequence[str]) -> T:
    """The answer with warnings in its headers; a watch has none."""
    if isinstance(result, Answer) and warnings:
        quoted = (each.replace("\\", "\\\\").replace('"', '\\"') for each in warnings)
        result.headers["warning"] = ", ".join(f'299 - "{each}"' for each in quoted)
    return result


def success(details: dict[str, Any], status: int = 200) -> Answer:
    """A `Status` that says it worked."""
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }
    return answer(body, status)
