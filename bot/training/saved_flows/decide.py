"""Decides what a slot of a flow's schedule does. Pure: no I/O."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.durations import format_duration
from bot.schedule import slots_until
from bot.training.flows.awaited import Awaited
from bot.training.saved_flows.tables import Flow, FlowPhase

USUAL = timedelta(minutes=10)
TOO_LATE = timedelta(hours=6)
"""A slot is started this late, and no later: as with digests, an outage of a day starts nothing."""


@dataclass(frozen=True)
class StartFlow:
    """Start the runs of a slot; a sentence says why they are late, if they are."""

    slot: datetime
    late: str = ""


@dataclass(frozen=True)
class SkipSlot:
    """Start nothing at a slot: the runs of the last start have not ended."""

    slot: datetime
    live: tuple[str, ...]


@dataclass(frozen=True)
class MissSlot:
    """Start nothing for a slot that is long over; a sentence says why."""

    slot: datetime
    why: str


Decision = StartFlow | SkipSlot | MissSlot


def is_due(flow: Flow, now: datetime) -> bool:
    """Whether a slot of its schedule is due."""
    return flow.phase == FlowPhase.SCHEDULED and flow.next_at is not None and flow.next_at <= now


def decide(flow: Flow, first: datetime, previous: Sequence[Awaited], now: datetime) -> Decision:
    """What to do about the slots from `first` on that are due: the newest counts for all.

    `previous` are the runs that the flow started last.
    """
    slots = slots_until((flow.cron, flow.time_zone), first, now)
    slot = slots[-1]
    live = tuple(each.reference for each in previous if each.is_live)
    if live:
        return SkipSlot(slot, live)
    late = now - slot
    if late > TOO_LATE:
        return MissSlot(slot, f"It could not be started within {format_duration(TOO_LATE)}.")
    if late <= USUAL:
        return StartFlow(slot)
    earlier = " Earlier times were missed, too." if len(slots) > 1 else ""
    return StartFlow(slot, f"It was started {format_duration(late)} late.{earlier}")
