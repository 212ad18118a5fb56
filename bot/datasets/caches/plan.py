"""What somebody wants cached: as they said it, and as it would be made."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

import msgspec

from bot.database.columns import WholeNumber
from bot.datasets.finding import Reference
from bot.errors import UsageError


@dataclass(frozen=True)
class Wish:
    """What `/dataset cache` was told; no size stands for the least that will do.

    `keep` is how long it stays when nobody uses it, None where that was not said. `teams` are to
    use it besides the one that asks. A volume that `is_boosted` can do more while it is filled.
    With `is_meant` nobody is asked whether it is.
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
        """How long it stays unused, None for ever or where that was not said."""
        return round(self.keep.total_seconds()) if isinstance(self.keep, timedelta) else None


@dataclass(frozen=True)
class Keeping:
    """How long a cache is to stay unused, None for ever; whether somebody said so."""

    seconds: int | None
    is_told: bool

    def longer(self, other: int | None) -> int | None:
        """The longer of both."""
        return None if None in {self.seconds, other} else max(self.seconds or 0, other or 0)


class Plan(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is made once it is confirmed: the value of a button, so its keys are short."""

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
_DECODER = msgspec.json.Decoder(Plan)
_LONGEST = 1900


def written(plan: Plan) -> str:
    """The plan as the value of a button; UsageError where Slack would not take it."""
    text = msgspec.json.encode(plan).decode()
    if len(text) > _LONGEST:
        raise UsageError("Too many teams at once.", "Name fewer teams, and add the others later.")
    return text


def read(value: str) -> Plan:
    """The plan of a button; UsageError when it is of another time."""
    try:
        return _DECODER.decode(value)
    except msgspec.MsgspecError:
        raise UsageError(
            "This button is out of date.", "Run the command again to see the current cost."
        ) from None
