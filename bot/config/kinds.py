"""The types of values in quartermaster.yaml, each with a description of valid values."""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic.functional_serializers import PlainSerializer
from pydantic.functional_validators import AfterValidator, BeforeValidator

from bot.config.places import BUCKET, S3_BUCKET, WORDS, is_place
from bot.durations import parse_duration

HIGHEST_PORT = 65_535
_UNITS = "KMGTP"
_SIZE = re.compile(r"([1-9][0-9]{0,8})([KMGTP])i")
_LOOPBACK = {"127.0.0.1", "::1", "localhost"}


@dataclass(frozen=True)
class TextCheck:
    """A check of a text value; `words` describe a valid one."""

    words: str
    is_right: Callable[[str], object]

    def __call__(self, value: str) -> str:
        """The value itself; ValueError with the description if it is invalid."""
        if not self.is_right(value):
            raise ValueError(f"it must be {self.words}")
        return value


def _shape(words: str, pattern: str) -> AfterValidator:
    return AfterValidator(TextCheck(words, re.compile(pattern).fullmatch))


def _duration(value: object) -> object:
    if isinstance(value, str):
        with suppress(ValueError):
            value = parse_duration(value)
    if not isinstance(value, timedelta) or value <= timedelta(0):
        raise ValueError("it must be a duration with a unit, like 30m, 8h, 3d or 1d12h")
    return value


def _keep(value: object) -> object:
    if value is False or value == "off":  # YAML reads a plain off as false
        return "off"
    try:
        return _duration(value)
    except ValueError:
        raise ValueError("it must be a duration like 8h or 3d, or off") from None


def _size(value: object) -> object:
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("it must be a size with a unit, like 500Gi or 20Ti")
    return int(match[1]) * 1024 ** (_UNITS.index(match[2]) + 1)


def _written(size: int) -> str:
    """A size as it is written in the file, so that a dump can be read again."""
    power = max(each for each in range(1, len(_UNITS) + 1) if size % 1024**each == 0)
    return f"{size // 1024**power}{_UNITS[power - 1]}i"


def _is_zone(value: str) -> bool:
    try:
        ZoneInfo(value)
    except (OSError, ValueError, ZoneInfoNotFoundError):
        return False
    return True


def _is_address(value: str) -> bool:
    host, _, port = value.rpartition(":")
    return bool(host) and port.isdecimal() and int(port) <= HIGHEST_PORT


def _has_one_group(value: str) -> bool:
    try:
        return re.compile(value).groups == 1
    except re.error:
        return False


def is_loopback(value: str) -> bool:
    """Whether the text is a URL of a web server on this machine."""
    return is_http(value) and urlsplit(value).hostname in _LOOPBACK


def is_http(value: str) -> bool:
    """Whether the text is a URL of a web server."""
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


def _is_endpoint(value: str) -> bool:
    if not is_http(value):
        return False
    parts = urlsplit(value)
    return "@" not in parts.netloc and not (parts.path.strip("/") or parts.query)


def _is_open(value: str) -> bool:
    """Whether it is a URL without a password; a path is allowed, as managed services have one."""
    parts = urlsplit(value) if is_http(value) else None
    return parts is not None and "@" not in parts.netloc and not parts.query


def _is_arm(value: str) -> bool:
    return _is_endpoint(value) and (value.startswith("https://") or is_loopback(value))


def with_slash(value: str) -> str:
    """The URL with a trailing slash, as Slack's libraries need it."""
    return value if value.endswith("/") else f"{value}/"


Duration = Annotated[timedelta, BeforeValidator(_duration)]
Keep = Annotated[
    timedelta | Literal["off"],
    BeforeValidator(_keep),
    AfterValidator(TextCheck("a duration like 8h, or off", bool)),
]
Size = Annotated[
    int,
    BeforeValidator(_size),
    AfterValidator(TextCheck("a size like 500Gi", bool)),
    PlainSerializer(_written),
]
UserId = Annotated[str, _shape("a Slack user id like U012ABCDEF", r"[UW][A-Z0-9]+")]
GroupId = Annotated[str, _shape("a Slack user group id like S012ABCDEF", r"S[A-Z0-9]+")]
ChannelId = Annotated[str, _shape("a Slack channel id like C012ABCDEF", r"[CGD][A-Z0-9]+")]
WorkspaceId = Annotated[str, _shape("a Slack workspace id like T012ABCDEF", r"T[A-Z0-9]+")]
OrganisationId = Annotated[str, _shape("a Slack organisation id like E012ABCDEF", r"E[A-Z0-9]+")]
Name = Annotated[
    str,
    _shape(
        "a name of lower-case letters, digits and hyphens, at most 63 characters",
        r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?",
    ),
]
ClassName = Annotated[
    str,
    _shape(
        "a storage class name like azurenetappfiles",
        r"(?=.{1,253}\Z)[a-z0-9]([a-z0-9.-]*[a-z0-9])?",
    ),
]
ResourceName = Annotated[
    str,
    _shape(
        "a Kubernetes resource like nvidia.com/mig-1g.10gb",
        r"([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?",
    ),
]
HostName = Annotated[
    str,
    _shape(
        "a host name like ml.example.com, or *.ml.example.com for one host per session",
        r"(?=.{1,180}\Z)(?:\*\.)?[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*",
    ),
]
GpuPart = Annotated[str, _shape("a fraction of a GPU like 0.5", r"0\.(?=[0-9]*[1-9])[0-9]{1,2}")]
CommandPrefix = Annotated[
    str,
    _shape("empty, or lower-case letters, digits and hyphens like qm", r"([a-z][a-z0-9-]{0,15})?"),
]
Address = Annotated[
    str, AfterValidator(TextCheck("an address and a port like 0.0.0.0:8080", _is_address))
]
TimeZone = Annotated[
    str, AfterValidator(TextCheck("a time zone like Europe/Berlin or UTC", _is_zone))
]
ApiUrl = Annotated[
    str,
    AfterValidator(TextCheck("a URL like https://slack.com/api/", is_http)),
    AfterValidator(with_slash),
]
StoreUrl = Annotated[
    str,
    AfterValidator(TextCheck("an address like https://grid.example.com:8082", _is_endpoint)),
]
PrometheusUrl = Annotated[
    str,
    AfterValidator(
        TextCheck("the address of a Prometheus, like http://prometheus.monitoring:9090", _is_open)
    ),
]
MlflowUrl = Annotated[
    str,
    AfterValidator(
        TextCheck("the address of an MLflow server, like http://mlflow.mlflow:5000", _is_open)
    ),
]
ControlPlaneUrl = Annotated[
    str,
    AfterValidator(
        TextCheck("the address of a Run:ai control plane, like https://acme.run.ai", _is_arm)
    ),
]
RunaiClusterId = Annotated[
    str,
    _shape(
        "the UUID of a cluster in Run:ai, like 71f69d83-ba66-4822-adf5-55ce55efd210",
        r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
    ),
]
Region = Annotated[
    str, _shape("an AWS region like eu-central-1", r"(?=.{1,63}\Z)[a-z]{2}(-[a-z]+)+-[0-9]+")
]
LabelName = Annotated[
    str, _shape("a Prometheus label name like cluster", r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*")
]
LabelValue = Annotated[
    str, _shape("a label value on one line, like prod", r"[^\x00-\x1f\x7f]{0,200}")
]
EksName = Annotated[
    str, _shape("an EKS cluster name like ml-prod", r"[0-9A-Za-z][0-9A-Za-z_-]{0,99}")
]
LoginName = Annotated[str, _shape("a name without colons and spaces", r"[^:\s]{1,200}")]
_BUCKET_WORDS = "a bucket, optionally with a folder in it, like s3://quartermaster-state/datasets"
_FOLDERS = r"(/(?!\.\.?(/|\Z))[A-Za-z0-9._=-]+)*/?"
BucketUrl = Annotated[str, _shape(_BUCKET_WORDS, BUCKET + _FOLDERS), AfterValidator(with_slash)]
S3BucketUrl = Annotated[
    str, _shape(_BUCKET_WORDS, S3_BUCKET + _FOLDERS), AfterValidator(with_slash)
]
PlaceUrl = Annotated[str, AfterValidator(TextCheck(WORDS, is_place)), AfterValidator(with_slash)]
LoopbackUrl = Annotated[
    str,
    AfterValidator(
        TextCheck("a URL on this machine like http://127.0.0.1:9000/clock", is_loopback)
    ),
]
SubscriptionId = Annotated[
    str,
    _shape(
        "a subscription id like 01234567-89ab-cdef-0123-456789abcdef",
        r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    ),
]
AccountName = Annotated[
    str,
    _shape(
        "a resource group and a NetApp account in it, like ml-platform/anf-ml",
        r"[A-Za-z0-9_().-]{0,89}[A-Za-z0-9_()-]/[A-Za-z0-9][A-Za-z0-9_-]{0,127}",
    ),
]
PoolAddress = Annotated[
    str,
    _shape(
        "the name of a capacity pool like premium-1, or its subscription, resource group, account"
        " and name, like 01234567-89ab-cdef-0123-456789abcdef/ml-platform/anf-ml/premium-1",
        r"([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/[A-Za-z0-9_().-]{1,90}"
        r"/[A-Za-z0-9][A-Za-z0-9_-]{0,127}/)?[A-Za-z0-9][A-Za-z0-9_-]{0,63}",
    ),
]
ArmAddress = Annotated[
    str,
    AfterValidator(
        TextCheck("the address of Resource Manager, like https://management.azure.com", _is_arm)
    ),
    AfterValidator(lambda value: value.rstrip("/")),
]
Pattern = Annotated[
    str,
    AfterValidator(
        TextCheck(
            r"a regular expression with exactly one group, like acc=([0-9.]+)", _has_one_group
        )
    ),
]
