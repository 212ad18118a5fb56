"""Settings of GPU digests."""

import re
from typing import Annotated, Literal

from pydantic import Field
from pydantic.functional_validators import AfterValidator

from bot.config.kinds import TextCheck, TimeZone
from bot.config.sections.section import Section

TIME_OF_DAY = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")
TimeOfDay = Annotated[
    str, AfterValidator(TextCheck("a time of day like 09:00, in quotes", TIME_OF_DAY.fullmatch))
]
DigestSection = Literal[
    "teams", "idle", "queue", "failures", "hardware", "overrides", "caches", "anf", "days", "hours"
]  # fmt: skip
DIGEST_SECTIONS: tuple[DigestSection, ...] = (
    "teams", "idle", "queue", "failures", "hardware", "overrides", "caches", "anf", "days", "hours",
)  # fmt: skip
Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


class Digest(Section):
    """When a channel gets a digest of GPU usage; `/gpu digest set` overrides this."""

    at: TimeOfDay = "09:00"
    """The time of day, in the digest's time zone."""

    time_zone: TimeZone = "UTC"
    """The time zone of its times and days."""

    daily: bool = True
    """Whether a digest of the previous day is posted every day."""

    weekly: Weekday | None = None
    """The day on which a digest of the previous seven days is posted; without it, none is."""

    sections: Annotated[tuple[DigestSection, ...], Field(min_length=1)] = DIGEST_SECTIONS
    """Sections to include, besides how much was allocated and how busy that was."""
