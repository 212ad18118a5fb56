"""What to do next with a wait. Pure: no I/O."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.gpus.waits.free import FreeGpus, best_of
from bot.gpus.waits.tables import GpuWait
from bot.reconcile.decisions import Wait

LOOK = timedelta(minutes=1)
"""How often a wait is compared with what is free."""


@dataclass(frozen=True)
class WaitObserved:
    """Whether the person may still act for the team, and what is free for it; None if unknown."""

    may_act: bool
    free: Sequence[FreeGpus] | None


@dataclass(frozen=True)
class Notify:
    """Notify the person of what is free, and end the wait."""

    free: FreeGpus


@dataclass(frozen=True)
class Expire:
    """Notify the person that the time is over, and end the wait."""


@dataclass(frozen=True)
class Revoke:
    """End the wait without a message: the person may no longer act for the team."""


Decision = Wait | Notify | Expire | Revoke


def decide(row: GpuWait, observed: WaitObserved, now: datetime) -> Decision:
    """What to do next with a wait."""
    if not observed.may_act:
        return Revoke()
    best = best_of(observed.free or (), row.gpu_type)
    if best is not None and best.fits(row.wanted):
        return Notify(best)
    if now >= row.until:
        return Expire()
    return Wait(min(now + LOOK, row.until))
