"""What a request may say: members, patterns and lengths as FSx's service model has them."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from playground.fsx.refusals import bad_request

Check = Callable[[str, Any], None]
FILE_SYSTEM = r"fs-[0-9a-f]{8,}"
TASK = r"task-[0-9a-f]{17,}"
TYPES = ("EXPORT_TO_REPOSITORY", "IMPORT_METADATA_FROM_REPOSITORY", "RELEASE_DATA_FROM_FILESYSTEM")


def text(pattern: str, longest: int) -> Check:
    """A text that fits a pattern."""

    def check(name: str, value: Any) -> None:
        if not isinstance(value, str) or len(value) > longest or not re.fullmatch(pattern, value):
            raise bad_request(f"{name} {value!r} does not fit {pattern}.")

    return check


def whole(least: int, most: int) -> Check:
    """A number."""

    def check(name: str, value: Any) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise bad_request(f"{name} is no number from {least} to {most}.")

    return check


def flag(name: str, value: Any) -> None:
    """True or false."""
    if not isinstance(value, bool):
        raise bad_request(f"{name} is neither true nor false.")


def several(each: Check, most: int) -> Check:
    """A list."""

    def check(name: str, value: Any) -> None:
        if not isinstance(value, list) or len(value) > most:
            raise bad_request(f"{name} is no list of at most {most}.")
        for one in value:
            each(name, one)

    return check


def members(needed: Mapping[str, Check], others: Mapping[str, Check] | None = None) -> Check:
    """An object with these members and no other."""
    known = {**needed, **(others or {})}

    def check(name: str, value: Any) -> None:
        if not isinstance(value, dict):
            raise bad_request(f"{name} is no object.")
        missing, unknown = set(needed) - set(value), set(value) - set(known)
        if missing or unknown:
            raise bad_request(f"{name}: missing {sorted(missing)}, unknown {sorted(unknown)}.")
        for key, one in value.items():
            known[key](f"{name}.{key}", one)

    return check


_LINE = r"[^\u0000\u0085\u2028\u2029\r\n]*"
_TOKEN = text(_LINE, 255)
_PAGES: Mapping[str, Check] = {"MaxResults": whole(1, 2**31 - 1), "NextToken": _TOKEN}
_ID = text(FILE_SYSTEM, 21)


def _filters(names: str) -> Check:
    value = several(text(_LINE, 128), 20)
    return several(members({"Name": text(names, 64), "Values": value}), 10)


_TAG = members({"Key": text(r"[^\r\n]+", 128), "Value": text(_LINE, 256)})
_REPORT = members(
    {"Enabled": flag},
    {"Path": text(_LINE, 4357), "Format": text(_LINE, 64), "Scope": text(_LINE, 64)},
)
_SINCE = members({"Unit": text("DAYS", 4), "Value": whole(0, 2**31 - 1)})

REQUESTS: Mapping[str, Check] = {
    "DescribeFileSystems": members({}, {"FileSystemIds": several(_ID, 50), **_PAGES}),
    "DescribeDataRepositoryAssociations": members(
        {},
        {
            "AssociationIds": several(text("dra-[0-9a-f]{8,}", 23), 50),
            "Filters": _filters("file-system-id|data-repository-type"),
            "MaxResults": whole(1, 25),
            "NextToken": _TOKEN,
        },
    ),
    "DescribeDataRepositoryTasks": members(
        {},
        {
            "TaskIds": several(text(TASK, 128), 50),
            "Filters": _filters("file-system-id|task-lifecycle|data-repository-association-id"),
            **_PAGES,
        },
    ),
    "CreateDataRepositoryTask": members(
        {"Type": text("|".join(TYPES), 64), "FileSystemId": _ID, "Report": _REPORT},
        {
            "Paths": several(text(_LINE, 4096), 100),
            "ClientRequestToken": text("[A-za-z0-9_.-]{1,63}", 63),
            "Tags": several(_TAG, 50),
            "ReleaseConfiguration": members({}, {"DurationSinceLastAccess": _SINCE}),
        },
    ),
    "CancelDataRepositoryTask": members({"TaskId": text(TASK, 128)}),
}
