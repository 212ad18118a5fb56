"""Since when the GPUs of a run did nothing, from what was measured. Pure: no I/O."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from bot.gpus.prometheus import STEP, Figure

# Below this nothing ran: a driver that answers the exporter is seen now and then.
_IDLE_BELOW = 0.01


def idle_since(
    pods: Iterable[Sequence[Figure]], gpus: int, times: tuple[datetime, datetime]
) -> datetime | None:
    """Since when all of a run's `gpus` did nothing without a break, until the end of `times`.

    None where one did something in the last five minutes, or where they are not all known of: what
    nobody measured is no idleness, and neither are the five minutes in which it begins. `pods` are
    the figures of each pod of the run.
    """
    begun, ended = times
    by_moment = _together(pods)
    since, moment = None, ended
    while moment - STEP >= begun and _is_idle(by_moment.get(moment, ()), gpus):
        since = moment
        moment -= STEP
    return since


def last_moment(now: datetime) -> datetime:
    """The last moment for which there are figures: a full five minutes that ended a minute ago."""
    settled = now - timedelta(minutes=1)
    step = int(STEP.total_seconds())
    return datetime.fromtimestamp(int(settled.timestamp()) // step * step, now.tzinfo)


def _together(pods: Iterable[Sequence[Figure]]) -> Mapping[datetime, list[Figure]]:
    found: dict[datetime, list[Figure]] = {}
    for figures in pods:
        for each in figures:
            found.setdefault(each.at, []).append(each)
    return found


def _is_idle(figures: Sequence[Figure], gpus: int) -> bool:
    are_known = sum(each.gpus for each in figures) >= gpus
    return are_known and all(each.busy is not None and each.busy < _IDLE_BELOW for each in figures)
