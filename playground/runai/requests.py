"""What a request may say: fields and parameters as the documentation of Run:ai 2.24 has them.

Unknown ones are refused, which Run:ai itself may not do.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from playground.runai.refusals import bad_request

Check = Callable[[str, Any], None]
LARGEST_PAGE, USUAL_PAGE = 500, 50
RANKS = ("VeryLow", "Low", "MediumLow", "Medium", "MediumHigh", "High", "VeryHigh")
_NAME = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")
_UNITS = ("Mib", "MB", "GB")
FILTERS: Mapping[str, frozenset[str]] = {
    "projects": frozenset(
        {"name", "clusterId", "departmentId", "parentId", "parentName", "phase", "createdAt"}
    ),
    "departments": frozenset({"name", "clusterId", "totalGpuQuota", "gpuAllocated", "createdAt"}),
    "nodepools": frozenset({"name", "clusterId", "phase", "createdAt", "updatedAt"}),
    "workloads": frozenset(
        {"name", "clusterId", "projectName", "projectId", "phase", "type", "createdAt"}
    ),
}


def text(name: str, value: Any) -> None:
    """A text that is not empty."""
    if not isinstance(value, str) or not value:
        raise bad_request(f"{name} must be a string")


def flag(name: str, value: Any) -> None:
    """True or false."""
    if not isinstance(value, bool):
        raise bad_request(f"{name} must be a boolean")


def project_name(name: str, value: Any) -> None:
    """A name of Kubernetes that begins with a letter."""
    text(name, value)
    if not _NAME.fullmatch(value):
        raise bad_request(f"{name} must begin with a letter and have only a-z, 0-9 and -")


def texts(name: str, value: Any) -> None:
    """A list of texts."""
    if not isinstance(value, list):
        raise bad_request(f"{name} must be an array")
    for position, each in enumerate(value):
        text(f"{name}[{position}]", each)


def one_of(*values: str) -> Check:
    """One of a few words."""

    def check(name: str, value: Any) -> None:
        if value not in values:
            raise bad_request(f"{name} must be one of {', '.join(values)}")

    return check


def number(least: float) -> Check:
    """A number from `least` on."""

    def check(name: str, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float) or value < least:
            raise bad_request(f"{name} must be a number of at least {least:g}")

    return check


def nullable(inner: Check) -> Check:
    """Null, or what the check allows."""

    def check(name: str, value: Any) -> None:
        if value is not None:
            inner(name, value)

    return check


def members(needed: Mapping[str, Check], others: Mapping[str, Check] | None = None) -> Check:
    """An object with these members and no other."""
    known = {**needed, **(others or {})}

    def check(name: str, value: Any) -> None:
        if not isinstance(value, dict):
            raise bad_request(f"{name} must be an object")
        for each in sorted(set(needed) - set(value)):
            raise bad_request(f"{name}.{each} is required")
        for each in sorted(set(value) - set(known)):
            raise bad_request(f"{name}.{each} is unknown")
        for each, inner in value.items():
            known[each](f"{name}.{each}", inner)

    return check


_SHARE = {
    "deserved": number(0),
    "limit": nullable(number(-1)),
    "overQuotaWeight": nullable(number(0)),
}
_NULLABLE_SHARE = {**_SHARE, "deserved": nullable(number(0))}
_RESOURCES = members(
    {"nodePool": members({"id": text}, {"name": text})},
    {
        "gpu": members({}, _SHARE),
        "cpu": nullable(members({}, _NULLABLE_SHARE)),
        "memory": nullable(members({}, {**_NULLABLE_SHARE, "units": one_of(*_UNITS)})),
        "rank": nullable(one_of(*RANKS)),
        "priority": nullable(text),
    },
)
TOKEN = members({"grantType": one_of("client_credentials"), "clientID": text, "clientSecret": text})


def resources(value: Any) -> None:
    """A list of what a project may use, by node pool."""
    _resources("the body", value)


def _resources(name: str, value: Any) -> None:
    if not isinstance(value, list) or not value:
        raise bad_request(f"{name} must be a list of resources")
    for position, each in enumerate(value):
        _RESOURCES(f"resources[{position}]", each)


PROJECT = members(
    {"name": project_name, "clusterId": text, "resources": _resources},
    {
        "description": text,
        "parentId": nullable(text),
        "requestedNamespace": nullable(text),
        "enforceRunaiScheduler": nullable(flag),
        "defaultNodePools": nullable(texts),
    },
)


def page(query: Mapping[str, list[str]], what: str) -> tuple[int, int, list[tuple[str, str]]]:
    """Offset, limit and conditions of a list; several conditions are separated by commas."""
    _known(query, {"offset", "limit", "filterBy", "sortBy", "sortOrder", "search"})
    offset = _whole(query, "offset", 0, 0, 10**9)
    limit = _whole(query, "limit", USUAL_PAGE, 1, LARGEST_PAGE)
    written = [each for values in query.get("filterBy", []) for each in values.split(",")]
    conditions: list[tuple[str, str]] = []
    for condition in written:
        name, operator, value = condition.partition("==")
        if not operator or not value or name not in FILTERS[what]:
            raise bad_request(f"filterBy {condition} is not a condition on {what}")
        conditions.append((name, value))
    return offset, limit, conditions


def of_cluster(query: Mapping[str, list[str]]) -> None:
    """The parameters of a request for one cluster."""
    _known(query, {"verbosity"})
    for value in query.get("verbosity", []):
        one_of("full", "metadata")("verbosity", value)


def none(query: Mapping[str, list[str]]) -> None:
    """No parameters."""
    _known(query, set())


def _known(query: Mapping[str, list[str]], names: set[str]) -> None:
    for each in sorted(set(query) - names):
        raise bad_request(f"parameter {each} is unknown")


def _whole(query: Mapping[str, list[str]], name: str, usual: int, least: int, most: int) -> int:
    values = query.get(name, [str(usual)])
    if len(values) != 1 or not values[0].isdecimal() or not least <= int(values[0]) <= most:
        raise bad_request(f"{name} must be a number from {least} to {most}")
    return int(values[0])
