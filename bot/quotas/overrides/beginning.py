"""Starts an approved override: its quotas are read, checked and recorded."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from sqlalchemy import select
from sqlmodel import col

from bot.cluster.types.quantities import format_quantity
from bot.database.database import Session
from bot.errors import ConflictError
from bot.quotas.engines.engine import ZERO, Engine, Figures, Overrides
from bot.quotas.engines.quota import BORROWING, NOMINAL, Observed, QuotaField, decoded
from bot.quotas.managed.controller import (
    Active,
    active_adjustments,
    below_lent,
    lasting,
    name_of,
    passing,
)
from bot.quotas.tables import (
    QUOTA,
    ManagedQuota,
    Mode,
    Override,
    OverridePhase,
    QuotaAdjustment,
)
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane

_NOTHING_TO_GIVE = "It has none to give at present."


@dataclass(frozen=True)
class QuotaReading:
    """A quota as it was read; `epoch` is that of its row while unmanaged, else None."""

    place: QuotaField
    observed: Observed
    epoch: int | None


def digest_of(row: Override) -> str:
    """A hash of what the approvers are shown."""
    shown = [row.team, row.cluster, row.queue, row.flavor, row.resource, row.mode]
    shown += [f"{row.amount:f}", str(row.donor_queue), str(row.duration_seconds), row.reason]
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()


def places(row: Override) -> tuple[QuotaField, ...]:
    """The quotas that the override changes, in order: that of a donor first."""
    field = BORROWING if row.mode == Mode.BORROWING_LIMIT else NOMINAL
    own = QuotaField(row.queue, row.flavor, row.resource, field)
    if row.donor_queue is None:
        return (own,)
    return (QuotaField(row.donor_queue, row.flavor, row.resource, NOMINAL), own)


def epochs(session: Session, row: Override) -> tuple[int | None, ...]:
    """The epochs of these quotas, to be read before the quotas themselves."""
    found = (quota_at(session, row.cluster, place) for place in places(row))
    return tuple(
        0 if quota is None else quota.epoch if quota.baseline is None else None for quota in found
    )


def look_at(
    overrides: Overrides, row: Override, known: Sequence[int | None]
) -> tuple[QuotaReading, ...]:
    """These quotas, read from the cluster."""
    return tuple(
        QuotaReading(place, overrides.look(place).observed, epoch)
        for place, epoch in zip(places(row), known, strict=True)
    )


def looks_in_view(session: Session, engine: Engine, row: Override) -> tuple[QuotaReading, ...]:
    """These quotas, as the view shows them; no external call is made."""
    notes = dict(engine.overrides.notes())
    found = []
    for place, epoch in zip(places(row), epochs(session, row), strict=True):
        queue = engine.queues.named(place.queue)
        figures = queue.of(place.flavor) if queue else None
        value, least = _shown(figures, place) if figures else (None, ZERO)
        seen = Observed(value, notes.get(place), kind=engine.words.queue, least=least)
        found.append(QuotaReading(place, seen, epoch))
    return tuple(found)


def quota_at(session: Session, cluster: str, place: QuotaField) -> ManagedQuota | None:
    """The managed quota of a place."""
    return session.scalars(
        select(ManagedQuota).where(
            col(ManagedQuota.cluster) == cluster,
            col(ManagedQuota.queue) == place.queue,
            col(ManagedQuota.flavor) == place.flavor,
            col(ManagedQuota.resource) == place.resource,
            col(ManagedQuota.field) == place.field,
        )
    ).first()


def managed(session: Session, cluster: str, workspace_id: str, place: QuotaField) -> ManagedQuota:
    """The managed quota of a place; a new one is not yet part of the session."""
    return quota_at(session, cluster, place) or ManagedQuota(
        workspace_id=workspace_id,
        cluster=cluster,
        queue=place.queue,
        flavor=place.flavor,
        resource=place.resource,
        field=place.field,
    )


@dataclass(frozen=True)
class Start:
    """One adjustment that can start.

    `found` is the baseline and the value of a quota that is not managed yet, else None. `total` is
    the value after the start, with all active overrides.
    """

    quota: ManagedQuota
    delta: Decimal
    found: tuple[Decimal, Decimal] | None
    total: Decimal


def starts(
    session: Session, row: Override, looks: Sequence[QuotaReading], now: datetime
) -> tuple[Start, ...] | None:
    """The adjustments that would start now; None if a quota changed since it was read.

    The quotas are then read again. ConflictError says why the override cannot start.
    """
    found = [_start(session, row, look, now) for look in looks]
    return tuple(each for each in found if each) if all(found) else None


def apply_first(
    session: Session, row: Override, adjustments: Sequence[Start], now: datetime
) -> None:
    """Records all adjustments, and applies the first one."""
    row.phase = OverridePhase.APPROVED
    row.starts_at = now
    if row.duration_seconds is not None:
        row.ends_at = now + timedelta(seconds=row.duration_seconds)
    for position, start in enumerate(adjustments):
        quota, is_first = start.quota, position == 0
        if start.found is not None:
            quota.baseline, quota.last_written = start.found
            session.add(quota)
            session.flush()
        adjustment = QuotaAdjustment(
            override_id=row.id,
            quota_id=quota.id,
            position=position,
            delta=start.delta,
            is_applied=is_first,
            is_settled=not is_first,
        )
        session.add(adjustment)
    wake(session, QUOTA, adjustments[0].quota.id, cluster_lane(row.cluster), now)


def absorb(session: Session, adjustments: Sequence[QuotaAdjustment]) -> None:
    """Makes the adjustments' changes part of the baseline; the queue itself does not change."""
    for adjustment in adjustments:
        quota = session.get_one(ManagedQuota, adjustment.quota_id)
        quota.baseline = (quota.baseline or Decimal(0)) + adjustment.delta
        adjustment.is_applied, adjustment.is_settled = False, True


def _shown(figures: Figures, place: QuotaField) -> tuple[Decimal | None, Decimal]:
    """A quota in the view, and the lowest value that it can have."""
    if place.field == BORROWING:
        return figures.borrowing_limit, ZERO
    nominal = None if figures.is_unlimited else figures.nominal
    return nominal, figures.lending_limit or ZERO


def _start(session: Session, row: Override, look: QuotaReading, now: datetime) -> Start | None:
    value = _usable(look)
    quota = managed(session, row.cluster, row.workspace_id, look.place)
    found = None
    if quota.baseline is None:
        if look.epoch != quota.epoch:
            return None
        found = (_baseline(look.observed, value), value)
    active = active_adjustments(session, quota.id)
    base = (found[0] if found else quota.baseline or Decimal(0)) + lasting(active)
    delta = _delta(row, look.place, base)
    until = None
    if row.duration_seconds is not None:
        until = now + timedelta(seconds=row.duration_seconds)
    lowest = _lowest(base, (*active, Active(row.id, delta, until)))
    if lowest < 0:
        raise ConflictError(
            f"The {name_of(quota.field)} of {look.observed.kind} {quota.queue} "
            f"would be {format_quantity(lowest)}."
        )
    if lowest < look.observed.least:
        room = lowest - delta - look.observed.least
        hint = f"The maximum is {format_quantity(room)}." if room > 0 else _NOTHING_TO_GIVE
        raise ConflictError(below_lent(quota.queue, look.observed, lowest), hint)
    return Start(quota, delta, found, base + passing(active) + delta)


def _lowest(base: Decimal, active: Sequence[Active]) -> Decimal:
    """The lowest value while these end one by one; `base` includes the permanent changes."""
    lasts = [each for each in active if each.until is not None]
    own = active[-1]
    left = base + (own.delta if own.until is None else ZERO)
    totals = [left + passing(active)]
    for end in {each.until for each in lasts if each.until}:
        later = (each.delta for each in lasts if each.until and each.until > end)
        totals.append(left + sum(later, ZERO))
    return min(totals)


def _usable(look: QuotaReading) -> Decimal:
    place, value = look.place, look.observed.value
    if value is None:
        raise ConflictError(
            f"{look.observed.kind} {place.queue} has no {name_of(place.field)} "
            f"of {place.resource} for flavor {place.flavor}."
        )
    if look.observed.is_foreign:
        raise ConflictError(
            f"Another Quartermaster installation manages {look.observed.kind} {place.queue}."
        )
    return value


def _baseline(observed: Observed, value: Decimal) -> Decimal:
    """The value without overrides: from our annotation, if the quota still has its value."""
    note = observed.note
    return decoded(note.baseline) if note and value == decoded(note.value) else value


def _delta(row: Override, place: QuotaField, base: Decimal) -> Decimal:
    if row.mode == Mode.BASE:
        return row.amount - base
    return -row.amount if place.queue == row.donor_queue else row.amount
