"""Keeps the quotas of queues at their baseline plus all active overrides."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from sqlalchemy import select
from sqlmodel import col

from bot.clock import Clock
from bot.cluster.types.quantities import format_quantity
from bot.database.database import Database, Session
from bot.errors import ClusterError
from bot.quotas import notices
from bot.quotas.engines.engine import Engine, QuotaReader
from bot.quotas.engines.quota import NOMINAL, Observed, QuotaAnnotation, QuotaField, QuotaTarget
from bot.quotas.engines.registry import Engines
from bot.quotas.tables import (
    OVERRIDE,
    QUOTA,
    ManagedQuota,
    Override,
    OverridePhase,
    QuotaAdjustment,
    subject_of,
)
from bot.reconcile.controller import Step, Trouble
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.slack.messages import refresh_cards

# The watch reports changes; this finds those it missed.
_LOOK_AGAIN = timedelta(hours=6)
_WORTH_SAYING = 3


@dataclass(frozen=True)
class Active:
    """An active override: a signed change, and when it ends (None: permanent)."""

    override_id: str
    delta: Decimal
    until: datetime | None


@dataclass(frozen=True)
class Done:
    """The quota has the wanted value."""


@dataclass(frozen=True)
class Write:
    """The quota has to be set to this."""

    wanted: QuotaTarget


@dataclass(frozen=True)
class Report:
    """Why the quota is left alone; `external_value` was set outside Quartermaster, if not None."""

    sentence: str
    external_value: Decimal | None = None


def decide(
    quota: ManagedQuota, active: Sequence[Active], observed: Observed
) -> Done | Write | Report:
    """What to do next for one quota of one queue. Pure: no I/O."""
    if observed.value is None:
        return Report(_gone(quota, observed.kind)) if active else Done()
    if observed.is_foreign:
        return Report(
            f"another Quartermaster installation has changed {observed.kind} {quota.queue}. "
            "Nothing was changed here."
        )
    wanted = wanted_of(quota, active)
    if observed.value == wanted.value and observed.note == (
        wanted.note if observed.keeps_notes else None
    ):
        return Done()
    if observed.value not in {wanted.value, quota.last_written, quota.writing}:
        return Report(_drift_sentence(quota, observed, wanted.value), observed.value)
    if observed.least and wanted.value < observed.least:
        return Report(f"{below_lent(quota.queue, observed, wanted.value)} Nothing was changed.")
    return Write(wanted)


def wanted_of(quota: ManagedQuota, active: Sequence[Active]) -> QuotaTarget:
    """The value with all overrides, and the annotation from which it can be restored."""
    baseline = (quota.baseline or Decimal(0)) + lasting(active)
    value = baseline + passing(active)
    ends = [each.until for each in active if each.until is not None]
    if not ends:
        return QuotaTarget(value, None)
    note = QuotaAnnotation(
        ids=tuple(sorted(each.override_id for each in active if each.until is not None)),
        baseline=format_quantity(baseline),
        value=format_quantity(value),
        until=max(ends).astimezone(UTC).isoformat(timespec="seconds"),
    )
    return QuotaTarget(value, note)


def lasting(active: Sequence[Active]) -> Decimal:
    """The sum of the permanent changes."""
    return sum((each.delta for each in active if each.until is None), Decimal(0))


def passing(active: Sequence[Active]) -> Decimal:
    """The sum of the temporary changes."""
    return sum((each.delta for each in active if each.until is not None), Decimal(0))


@dataclass(frozen=True)
class _State:
    quota: ManagedQuota
    adjustments: tuple[QuotaAdjustment, ...]
    active: tuple[Active, ...]


class QuotaController:
    """Keeps one quota of one queue; each step reads the queue itself, then acts once."""

    kind = QUOTA

    def __init__(self, database: Database, clock: Clock, engines: Engines) -> None:
        self._database = database
        self._clock = clock
        self._engines = engines

    def step(self, row_id: str) -> Step:
        """Writes the wanted value if the queue has another one that Quartermaster wrote."""
        state = self._database.read(lambda session: _load(session, row_id))
        if state is None or state.quota.baseline is None:
            return Step(None)
        quota = state.quota
        sight = engine_of(self._engines, quota.cluster).overrides.look(place_of(quota))
        observed = sight.observed
        now = self._clock.now()
        match decide(quota, state.active, observed):
            case Done():
                again = now + _LOOK_AGAIN if state.active else None
                return Step(again, lambda session: _settle(session, state, observed, now))
            case Report() as report:
                return Step(now + _LOOK_AGAIN, lambda session: _stop(session, row_id, report, now))
            case Write(wanted):
                return self._write(sight, state, wanted)

    def on_failure(self, session: Session, row_id: str, trouble: Trouble) -> None:
        """Shows an error on the cards once it has occurred several times."""
        quota = session.get(ManagedQuota, row_id)
        if quota is not None and trouble.attempts >= _WORTH_SAYING:
            quota.trouble = trouble.sentence
            refresh_overrides(session, row_id)

    def _write(self, sight: QuotaReader, state: _State, wanted: QuotaTarget) -> Step:
        """Records the value that is about to be written; the next step writes it."""
        quota, observed = state.quota, sight.observed
        again = self._clock.now()
        if (quota.last_written, quota.writing) != (observed.value, wanted.value):
            return Step(again, lambda session: _prepare(session, quota.id, observed, wanted))
        sight.write(wanted)
        return Step(again)


def engine_of(engines: Engines, name: str) -> Engine:
    """The engine of a cluster; ClusterError when that is no longer configured."""
    engine = engines.get(name)
    if engine is None:
        raise ClusterError(
            f"Cluster {name} is no longer in quartermaster.yaml.",
            "Add it again so that its quotas can be restored.",
            reason="NotConfigured",
        )
    return engine


def place_of(quota: ManagedQuota) -> QuotaField:
    """The place of a managed quota."""
    return QuotaField(quota.queue, quota.flavor, quota.resource, quota.field)


def active_adjustments(session: Session, quota_id: str) -> tuple[Active, ...]:
    """The active overrides of a managed quota."""
    adjustments = session.scalars(
        select(QuotaAdjustment)
        .where(col(QuotaAdjustment.quota_id) == quota_id, col(QuotaAdjustment.is_applied))
        .order_by(col(QuotaAdjustment.id))
    )
    return tuple(
        Active(
            adjustment.override_id,
            adjustment.delta,
            session.get_one(Override, adjustment.override_id).ends_at,
        )
        for adjustment in adjustments
    )


def refresh_overrides(session: Session, quota_id: str) -> list[Override]:
    """Refreshes the cards of all overrides that change this quota, and returns these."""
    statement = (
        select(Override)
        .join(QuotaAdjustment, col(QuotaAdjustment.override_id) == col(Override.id))
        .where(
            col(QuotaAdjustment.quota_id) == quota_id,
            col(QuotaAdjustment.is_applied) | ~col(QuotaAdjustment.is_settled),
        )
        .order_by(col(Override.id))
    )
    rows = list(session.scalars(statement))
    for row in rows:
        refresh_cards(session, subject_of(row), live=False)
    return rows


def _load(session: Session, quota_id: str) -> _State | None:
    quota = session.get(ManagedQuota, quota_id)
    if quota is None:
        return None
    adjustments = session.scalars(
        select(QuotaAdjustment).where(col(QuotaAdjustment.quota_id) == quota_id)
    ).all()
    return _State(quota, tuple(adjustments), active_adjustments(session, quota_id))


def _prepare(session: Session, quota_id: str, observed: Observed, wanted: QuotaTarget) -> None:
    quota = session.get_one(ManagedQuota, quota_id)
    quota.last_written, quota.writing = observed.value, wanted.value


def _settle(session: Session, state: _State, observed: Observed, now: datetime) -> None:
    quota = session.get_one(ManagedQuota, state.quota.id)
    if quota.stopped_because or quota.trouble:
        quota.stopped_because, quota.trouble, quota.external_value = "", "", None
        refresh_overrides(session, quota.id)
    quota.last_written, quota.writing = observed.value, None
    for seen in state.adjustments:
        adjustment = session.get_one(QuotaAdjustment, seen.id)
        if adjustment.is_applied == seen.is_applied and not adjustment.is_settled:
            adjustment.is_settled = True
            wake(session, OVERRIDE, adjustment.override_id, cluster_lane(quota.cluster), now)
    # What was switched off since the queue was read still has to be restored.
    if not state.active and not _is_needed(session, quota.id):
        quota.baseline = None
        quota.epoch += 1


def _is_needed(session: Session, quota_id: str) -> bool:
    """Whether an override is on, or will be switched on."""
    statement = (
        select(QuotaAdjustment)
        .join(Override, col(Override.id) == col(QuotaAdjustment.override_id))
        .where(
            col(QuotaAdjustment.quota_id) == quota_id,
            col(QuotaAdjustment.is_applied) | (col(Override.phase) == OverridePhase.APPROVED),
        )
    )
    return session.scalars(statement).first() is not None


def _stop(session: Session, quota_id: str, report: Report, now: datetime) -> None:
    quota = session.get_one(ManagedQuota, quota_id)
    if (quota.stopped_because, quota.external_value) != (report.sentence, report.external_value):
        quota.stopped_because, quota.external_value = report.sentence, report.external_value
        for row in refresh_overrides(session, quota_id):
            has_buttons = report.external_value is not None
            notices.stopped(session, row, report.sentence, now, has_buttons=has_buttons)


def _gone(quota: ManagedQuota, kind: str) -> str:
    return (
        f"{kind} {quota.queue} no longer has a {name_of(quota.field)} of {quota.resource} "
        f"for flavor {quota.flavor}."
    )


def _drift_sentence(quota: ManagedQuota, observed: Observed, ours: Decimal) -> str:
    theirs = format_quantity(observed.value or Decimal(0))
    return (
        f"the {name_of(quota.field)} of {observed.kind} {quota.queue} ({quota.flavor}) was set to "
        f"{theirs} outside Quartermaster; it should be {format_quantity(ours)}. "
        "Nothing was changed."
    )


def below_lent(queue: str, observed: Observed, wanted: Decimal) -> str:
    """Says that the quota would be below what the queue lends, and how to solve it."""
    least = format_quantity(observed.least)
    return (
        f"{observed.kind} {queue} lends up to {least} (lendingLimit), so its nominal quota cannot"
        f" be {format_quantity(wanted)}. A platform admin can lower its lendingLimit first."
    )


def name_of(field: str) -> str:
    """The name of a quota's field, for people."""
    return "nominal quota" if field == NOMINAL else "borrowing limit"
