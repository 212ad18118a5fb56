"""A request for a cache: as it was typed, and as it would be carried out."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

import msgspec

from bot.database.columns import WholeNumber
from bot.datasets.finding import Reference
from bot.errors import UsageError


@dataclass(frozen=True)
class CacheRequest:
    """The arguments of `/dataset cache`; without a size the smallest that fits is used.

    `keep` is how long the cache is kept unused, None if not given. `teams` will use it besides
    the caller's team. `is_boosted` raises the throughput of its volume during the fill. `is_meant`
    skips the confirmation.
    """

    reference: Reference
    storage_class: str | None = None
    size: int | None = None
    teams: tuple[str, ...] = ()
    keep: timedelta | Literal["off"] | None = None
    layout: str | None = None
    is_boosted: bool = False
    is_meant: bool = False
    team: str | None = None

    @property
    def keep_seconds(self) -> int | None:
        """How long the cache is kept unused; None for ever, or if not given."""
        return round(self.keep.total_seconds()) if isinstance(self.keep, timedelta) else None


@dataclass(frozen=True)
class Keeping:
    """How long a cache is kept unused, None for ever; `is_told` if a person chose that."""

    seconds: int | None
    is_told: bool

    def longer(self, other: int | None) -> int | None:
        """The longer of both."""
        return None if None in {self.seconds, other} else max(self.seconds or 0, other or 0)


class CachePlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is created on confirmation: the value of a button, so its keys are short."""

    version_id: str = msgspec.field(name="v")
    storage_class: str = msgspec.field(name="c")
    capacity_bytes: WholeNumber = msgspec.field(name="b")
    team: str = msgspec.field(name="t")
    teams: tuple[str, ...] = msgspec.field(name="f", default=())
    keep_seconds: WholeNumber | None = msgspec.field(name="k", default=None)
    layout: str = msgspec.field(name="l", default="")
    is_boosted: bool = msgspec.field(name="o", default=False)
    growth_bytes: WholeNumber = msgspec.field(name="g", default=0)


# msgspec looks into a class when it first meets it, and a thread that meets it meanwhile crashes.
_DECODER = msgspec.json.Decoder(CachePlan)
_LONGEST = 1900


def written(plan: CachePlan) -> str:
    """The plan as the value of a button; UsageError if it is too long for Slack."""
    text = msgspec.json.encode(plan).decode()
    if len(text) > _LONGEST:
        raise UsageError("Too many teams at once.", "Name fewer teams, and add the others later.")
    return text


def read(value: str) -> CachePlan:
    """The plan in the value of a button; UsageError if an earlier release wrote it."""
    try:
        return _DECODER.decode(value)
    except msgspec.MsgspecError:
        raise UsageError(
            "This button is out of date.", "Run the command again to see the current cost."
        ) from None
