"""What quartermaster.yaml says of the digests of GPUs."""

import re
from typing import Annotated, Literal

from pydantic import Field
from pydantic.functional_validators import AfterValidator

from bot.config.kinds import Kind, TimeZone
from bot.config.section import Section

TIME_OF_DAY = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")
TimeOfDay = Annotated[
    str, AfterValidator(Kind("a time of the day like 09:00, in quotes", TIME_OF_DAY.fullmatch))
]
DigestSection = Literal[
    "teams", "idle", "queue", "failures", "hardware", "overrides", "caches", "anf", "days", "hours"
]  # fmt: skip
DIGEST_SECTIONS: tuple[DigestSection, ...] = (
    "teams", "idle", "queue", "failures", "hardware", "overrides", "caches", "anf", "days", "hours",
)  # fmt: skip
Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


class Digest(Section):
    """When a channel is told what GPUs did, and of what; `/gpu digest set` wins over this."""

    at: TimeOfDay = "09:00"
    """The time of the day, on the clocks of its zone."""

    time_zone: TimeZone = "UTC"
    """The zone of its times and of its days."""

    daily: bool = True
    """Whether there is one every day, of the day before."""

    weekly: Weekday | None = None
    """On which day there is one of the seven days before; without it on none."""

    sections: Annotated[tuple[DigestSection, ...], Field(min_length=1)] = DIGEST_SECTIONS
    """What it tells, besides how much was allocated and how busy that was."""
