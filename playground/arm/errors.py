"""Refusals as Azure Resource Manager words them: a status, a code and a message."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class ArmError(Exception):
    """An answer `{"error": {"code", "message"}}` with its status."""

    status: int
    code: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)


def bad(message: str) -> ArmError:
    """What was asked for cannot be."""
    return ArmError(400, "BadRequest", message)


def missing(kind: str, path: str) -> ArmError:
    """There is no such resource."""
    words = f"The Resource 'Microsoft.NetApp/{kind}/{path}' was not found."
    return ArmError(404, "ResourceNotFound", words)


def busy(what: str) -> ArmError:
    """Another operation is under way on the same resource."""
    return ArmError(409, "Conflict", f"Another operation is in progress on {what}. Retry later.")
