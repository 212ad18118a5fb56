"""How a quota engine sees one piece of work: waiting and for what, admitted, or pushed out."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Protocol


class Cause(StrEnum):
    """What a piece of work waits for."""

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
    """Why work is not admitted; `said` is the engine's own sentence, which may be empty."""

    cause: Cause
    said: str = ""


class Stand(StrEnum):
    """Where work stands with its engine; GIVEN_UP is an end that its object does not know of."""

    WAITING = "waiting"
    ADMITTED = "admitted"
    PREEMPTED = "preempted"
    GIVEN_UP = "given up"


@dataclass(frozen=True)
class Taker:
    """What pushed work out: the uid of its object, and what is known of that object.

    `queue` is the one it is in; all are empty where the engine did not say.
    """

    uid: str = ""
    queue: str = ""
    kind: str = ""
    name: str = ""


@dataclass(frozen=True)
class Standing:
    """How one piece of work stands.

    `name` is that of the engine's own object for it. `reason` is a sentence for people where
    there is more to say than that it waits, which `quote`, the engine's own words, ends. `since`
    is the engine's own time. `blocked` says what it waits for, None once it has its quota. `taker`
    is what it was pushed out for. `flavor` is the sort of nodes that it was given.
    """

    name: str
    stand: Stand
    reason: str = ""
    quote: str = ""
    since: datetime | None = None
    blocked: Blocked | None = None
    taker: Taker | None = None
    flavor: str = ""


class Item(Protocol):
    """Something in a queue, whoever started it: it waits, or holds quota."""

    @property
    def own_name(self) -> str:
        """The name of the engine's own object."""
        ...

    @property
    def namespace(self) -> str:
        """Where it lives."""
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
        """The GPUs it wants in all."""
        ...

    @property
    def priority(self) -> int:
        """The higher goes first."""
        ...

    @property
    def created_at(self) -> datetime | None:
        """Since when it is there."""
        ...

    @property
    def reserved_at(self) -> datetime | None:
        """Since when it holds quota, None where it does not or nobody says."""
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
        """Whether it is over."""
        ...

    @property
    def blocked(self) -> Blocked | None:
        """Why it is not admitted, None when it is."""
        ...

    def held(self, flavor: str) -> Decimal:
        """The GPUs of a flavor that it holds."""
        ...
