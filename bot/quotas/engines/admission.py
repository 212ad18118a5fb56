"""The state of one workload in a quota engine: waiting and for what, admitted, or preempted."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Protocol


class Cause(StrEnum):
    """What a workload waits for."""

    QUOTA = "quota"
    TOO_BIG = "too big"
    PREEMPTING = "preempting"
    FLAVOR = "flavor"
    TOPOLOGY = "topology"
    UNCOVERED = "uncovered"
    QUEUE = "queue"
    PODS_READY = "pods ready"
    CHECKS = "checks"
    HOLD = "hold"
    NOT_LOOKED_AT = "not looked at"
    NOT_PREEMPTIBLE = "not preemptible"
    LIMIT = "limit"
    DELAY = "delay"


@dataclass(frozen=True)
class Blocked:
    """Why a workload is not admitted; `said` is the engine's own message, which may be empty."""

    cause: Cause
    said: str = ""


class AdmissionPhase(StrEnum):
    """The state of a workload; GIVEN_UP is an end that its own object does not show."""

    WAITING = "waiting"
    ADMITTED = "admitted"
    PREEMPTED = "preempted"
    GIVEN_UP = "given up"


@dataclass(frozen=True)
class Taker:
    """What preempted a workload: the uid of its object, and what is known of that object.

    `queue` is the one it is in. A field is empty if the engine did not report it.
    """

    uid: str = ""
    queue: str = ""
    kind: str = ""
    name: str = ""


@dataclass(frozen=True)
class AdmissionState:
    """The state of one workload.

    `name` is that of the engine's own object for it. `reason` is a sentence for people if there is
    more to say than that it waits; `quote`, the engine's own message, follows it. `since` is the
    engine's own time. `blocked` says what it waits for, None once it has its quota. `taker` is what
    preempted it. `flavor` is the flavor of the nodes that it was given.
    """

    name: str
    phase: AdmissionPhase
    reason: str = ""
    quote: str = ""
    since: datetime | None = None
    blocked: Blocked | None = None
    taker: Taker | None = None
    flavor: str = ""


class Item(Protocol):
    """A workload in a queue, which waits or holds quota, whether or not the bot started it."""

    @property
    def own_name(self) -> str:
        """The name of the engine's own object."""
        ...

    @property
    def namespace(self) -> str:
        """Its namespace."""
        ...

    @property
    def name(self) -> str:
        """The name of what the engine's object stands for."""
        ...

    @property
    def kind(self) -> str:
        """The kind of what it stands for."""
        ...

    @property
    def uid(self) -> str:
        """The uid of what it stands for."""
        ...

    @property
    def owner_uids(self) -> tuple[str, ...]:
        """The uids of all that own the engine's object."""
        ...

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of the engine's object."""
        ...

    @property
    def queue(self) -> str:
        """The queue it names."""
        ...

    @property
    def gpus(self) -> Decimal:
        """The GPUs it requests in total."""
        ...

    @property
    def priority(self) -> int:
        """Higher is admitted first."""
        ...

    @property
    def created_at(self) -> datetime | None:
        """When it was created."""
        ...

    @property
    def reserved_at(self) -> datetime | None:
        """Since when it has held quota, None if it does not or this is unknown."""
        ...

    @property
    def ends_at(self) -> datetime | None:
        """When the engine ends it at the latest, None without such a limit."""
        ...

    @property
    def is_admitted(self) -> bool:
        """Whether it may run."""
        ...

    @property
    def is_finished(self) -> bool:
        """Whether it has finished."""
        ...

    @property
    def blocked(self) -> Blocked | None:
        """Why it is not admitted, None when it is."""
        ...

    def held(self, flavor: str) -> Decimal:
        """The GPUs of a flavor that it holds."""
        ...
