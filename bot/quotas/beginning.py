"""How an approved override begins: what it changes is looked at, checked, and noted down."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from sqlalchemy import select
from sqlmodel import col

from bot.cluster.quantities import format_quantity
from bot.database.database import Session
from bot.due import wake
from bot.errors import ConflictError
from bot.quotas.controller import active_legs, lasting, name_of, passing
from bot.quotas.engine import Overrides
from bot.quotas.managed import BORROWING, NOMINAL, Observed, Place, decoded
from bot.quotas.tables import (
    QUOTA,
    Leg,
    ManagedQuota,
    Mode,
    Override,
    OverridePhase,
    lane_of,
)


@dataclass(frozen=True)
class Look:
    """What a place said; `epoch` is of its quota while nobody managed it, else None."""

    place: Place
    observed: Observed
    epoch: int | None


def digest_of(row: Override) -> str:
    """A digest of what the deciders are shown."""
    shown = [row.team, row.cluster, row.queue, row.flavor, row.resource, row.mode]
    shown += [f"{row.amount:f}", str(row.donor_queue), str(row.duration_seconds), row.reason]
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()


def places(row: Override) -> tuple[Place, ...]:
    """What the override changes, in the order in which it is changed: a donor gives first."""
    field = BORROWING if row.mode == Mode.BORROWING_LIMIT else NOMINAL
    own = Place(row.queue, row.flavor, row.resource, field)
    if row.donor_queue is None:
        return (own,)
    return (Place(row.donor_queue, row.flavor, row.resource, NOMINAL), own)


def epochs(session: Session, row: Override) -> tuple[int | None, ...]:
    """The epochs of what the override changes, to be read before a look."""
    found = (quota_at(session, row.cluster, place) for place in places(row))
    return tuple(
        0 if quota is None else quota.epoch if quota.baseline is None else None for quota in found
    )


def look_at(overrides: Overrides, row: Override, known: Sequence[int | None]) -> tuple[Look, ...]:
    """How things stand in the cluster itself."""
    return tuple(
        Look(place, overrides.look(place).observed, epoch)
        for place, epoch in zip(places(row), known, strict=True)
    )


def quota_at(session: Session, cluster: str, place: Place) -> ManagedQuota | None:
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


def managed(session: Session, cluster: str, workspace_id: str, place: Place) -> ManagedQuota:
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
    """One leg that can begin; of a quota that is not managed yet, its baseline and its value."""

    quota: ManagedQuota
    delta: Decimal
    found: tuple[Decimal, Decimal] | None


def starts(session: Session, row: Override, looks: Sequence[Look]) -> tuple[Start, ...] | None:
    """What would begin; None when things changed since the looks, which are then taken anew.

    ConflictError says why it cannot begin at all.
    """
    found = [_start(session, row, look) for look in looks]
    return tuple(each for each in found if each) if all(found) else None


def switch_first(session: Session, row: Override, legs: Sequence[Start], now: datetime) -> None:
    """Notes all legs down, the first one on."""
    row.phase = OverridePhase.APPROVED
    row.starts_at = now
    if row.duration_seconds is not None:
        row.ends_at = now + timedelta(seconds=row.duration_seconds)
    for position, start in enumerate(legs):
        quota, is_first = start.quota, position == 0
        if start.found is not None:
            quota.baseline, quota.last_written = start.found
            session.add(quota)
            session.flush()
        leg = Leg(
            override_id=row.id,
            quota_id=quota.id,
            position=position,
            delta=start.delta,
            is_on=is_first,
            is_settled=not is_first,
        )
        session.add(leg)
    wake(session, QUOTA, legs[0].quota.id, lane_of(row.cluster), now)


def absorb(session: Session, legs: Sequence[Leg]) -> None:
    """Makes what the legs changed part of the baseline, which changes nothing in the queue."""
    for leg in legs:
        quota = session.get_one(ManagedQuota, leg.quota_id)
        quota.baseline = (quota.baseline or Decimal(0)) + leg.delta
        leg.is_on, leg.is_settled = False, True


def _start(session: Session, row: Override, look: Look) -> Start | None:
    value = _usable(look)
    quota = managed(session, row.cluster, row.workspace_id, look.place)
    found = None
    if quota.baseline is None:
        if look.epoch != quota.epoch:
            return None
        found = (_baseline(look.observed, value), value)
    active = active_legs(session, quota.id)
    base = (found[0] if found else quota.baseline or Decimal(0)) + lasting(active)
    delta = _delta(row, look.place, base)
    total = base + passing(active) + delta
    if total < 0:
        raise ConflictError(
            f"The {name_of(quota.field)} of {look.observed.kind} {quota.queue} "
            f"would be {format_quantity(total)}."
        )
    return Start(quota, delta, found)


def _usable(look: Look) -> Decimal:
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
    """What the figure is without overrides: a note of ours that still holds knows better."""
    note = observed.note
    return decoded(note.baseline) if note and value == decoded(note.value) else value


def _delta(row: Override, place: Place, base: Decimal) -> Decimal:
    if row.mode == Mode.BASE:
        return row.amount - base
    return -row.amount if place.queue == row.donor_queue else row.amount
