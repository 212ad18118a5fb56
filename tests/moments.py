"""When simulated time begins: never on the minute, since nothing in the world happens there."""

from datetime import datetime, timedelta
from random import Random

_SEED = 20261121
_PAST_THE_MINUTE = timedelta(seconds=Random(_SEED).uniform(1, 50))  # noqa: S311  # no secret


def off_the_minute(moment: datetime) -> datetime:
    """The moment and a part of a minute, the same in every run."""
    return moment + _PAST_THE_MINUTE


def in_whole_seconds(moment: datetime) -> datetime:
    """The moment as Kubernetes writes it: without its part of a second."""
    return moment.replace(microsecond=0)
