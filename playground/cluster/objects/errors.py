"""Answers of the API server that are not a success, as `Status` objects."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from playground.cluster.objects.kinds import Kind

UNPROCESSABLE = 422


@dataclass(frozen=True)
class Cause:
    """One thing that is wrong with one field, in the API server's own form."""

    field: str
    message: str
    reason: str = "FieldValueInvalid"


class ApiError(Exception):
    """A request that the API server refuses."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details or {}

    def status(self) -> dict[str, Any]:
        """The `Status` object that a client receives."""
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details:
            status["details"] = self.details
        return status | {"code": self.code}


def _details(kind: Kind, name: str) -> dict[str, Any]:
    details = {"name": name, "kind": kind.plural}
    return details | {"group": kind.group} if kind.group else details


def not_found(kind: Kind, name: str) -> ApiError:
    """404: no such object."""
    return ApiError(404, "NotFound", f'{kind.qualified} "{name}" not found', _details(kind, name))


def no_such_path() -> ApiError:
    """404: the server serves nothing at this path."""
    return ApiError(404, "NotFound", "the server could not find the requested resource")


def already_exists(kind: Kind, name: str) -> ApiError:
    """409: the name is taken."""
    message = f'{kind.qualified} "{name}" already exists'
    return ApiError(409, "AlreadyExists", message, _details(kind, name))


def conflict(kind: Kind, name: str, why: str = "") -> ApiError:
    """409: the object is not what the writer thought it was."""
    why = why or (
        "the object has been modified; please apply your changes to the latest version and "
        "try again"
    )
    message = f'Operation cannot be fulfilled on {kind.qualified} "{name}": {why}'
    return ApiError(409, "Conflict", message, _details(kind, name))


def invalid(kind: Kind, name: str, causes: Sequence[Cause]) -> ApiError:
    """422: the object may not look like this."""
    qualified = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    rows = [{"reason": c.reason, "message": c.message, "field": c.field} for c in causes]
    details = {"name": name, "kind": kind.kind, "causes": rows}
    if kind.group:
        details["group"] = kind.group
    message = f'{qualified} "{name}" is invalid: {listed(causes)}'
    return ApiError(UNPROCESSABLE, "Invalid", message, details)


def denied(hook: str, causes: Sequence[Cause]) -> ApiError:
    """403: a webhook does not let the object look like this."""
    told = f'admission webhook "{hook}" denied the request: {listed(causes)}'
    return ApiError(403, "Forbidden", told)


def listed(causes: Sequence[Cause]) -> str:
    """What is wrong, each said once, in one line."""
    told = dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes)
    return next(iter(told)) if len(told) == 1 else f"[{', '.join(told)}]"


def required(field: str, why: str = "") -> Cause:
    """A field that has to be there."""
    return Cause(field, f"Required value{': ' + why if why else ''}", "FieldValueRequired")


def wrong(field: str, value: Any, why: str) -> Cause:
    """A value that may not be, shown as the API server shows it."""
    return Cause(field, f"Invalid value: {_shown(value)}: {why}")


def unsupported(field: str, value: Any, allowed: Sequence[str]) -> Cause:
    """A value that is none of those allowed."""
    listed = ", ".join(f'"{choice}"' for choice in allowed)
    why = f"Unsupported value: {_shown(value)}: supported values: {listed}"
    return Cause(field, why, "FieldValueNotSupported")


def duplicate(field: str, value: Any, why: str = "") -> Cause:
    """A value that is there already."""
    shown = f"Duplicate value: {_shown(value)}"
    return Cause(field, f"{shown}: {why}" if why else shown, "FieldValueDuplicate")


def not_allowed(field: str, why: str) -> Cause:
    """A field that may not be set, or not changed."""
    return Cause(field, f"Forbidden: {why}", "FieldValueForbidden")


def _shown(value: Any) -> str:
    if isinstance(value, bool | int | float):
        return str(value).lower()
    return orjson.dumps(value).decode()


def bad_request(message: str) -> ApiError:
    """400: the request itself cannot be understood."""
    return ApiError(400, "BadRequest", message)


def forbidden(kind: Kind, name: str, why: str) -> ApiError:
    """403: this may not be done."""
    told = f'{kind.qualified} "{name}" is forbidden: {why}' if name else why
    return ApiError(403, "Forbidden", told, _details(kind, name))


def expired(oldest: int, asked: int) -> ApiError:
    """410: the resource version is no longer kept."""
    return ApiError(410, "Expired", f"too old resource version: {asked} ({oldest})")


def method_not_allowed() -> ApiError:
    """405: the resource does not have this verb."""
    message = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", message)


def too_many_requests(seconds: int) -> ApiError:
    """429: come back in `seconds`."""
    message = "the server has received too many requests and has asked us to try again later"
    return ApiError(429, "TooManyRequests", message, {"retryAfterSeconds": seconds})


def unavailable(message: str) -> ApiError:
    """503: nothing works now."""
    return ApiError(503, "ServiceUnavailable", message)


def etcd_timed_out() -> ApiError:
    """500: whether the write was done is unknown; no reason is given, as for any other error."""
    return ApiError(500, "", "etcdserver: request timed out")


def unauthorized() -> ApiError:
    """401: the token is not known."""
    return ApiError(401, "Unauthorized", "Unauthorized")
