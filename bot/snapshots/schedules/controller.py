"""The controller of snapshot schedules: takes each slot's snapshot once, if need be late."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from sqlmodel import Session
from typing_extensions import override

from bot.cluster.cluster import Cluster
from bot.cluster.resources import FOREIGN_SCHEDULES
from bot.reconcile.controller import Step, Trouble
from bot.reconcile.frame import RowController, note_failure
from bot.schedule import next_slot
from bot.snapshots import finding
from bot.snapshots.examining import examine, live
from bot.snapshots.schedules.decide import Defer, ScheduleObserved, decide
from bot.snapshots.schedules.record import ScheduleFindings, record
from bot.snapshots.tables import SCHEDULE, SnapshotSchedule

# What it waits for wakes the row; this catches what may have been missed.
_SOON = timedelta(minutes=1)


class ScheduleController(RowController[SnapshotSchedule]):
    """Reconciles snapshot schedules."""

    kind = SCHEDULE
    table = SnapshotSchedule

    @override
    def load(self, session: Session, row_id: str) -> SnapshotSchedule | None:
        row = session.get(SnapshotSchedule, row_id)
        return row if row is not None and row.is_live else None

    @override
    def reconcile(self, row: SnapshotSchedule, now: datetime) -> Step:
        """Takes the snapshot that is due."""
        if now < row.next_at:
            return Step(row.next_at)
        look = self._look(row)
        decision = decide(row, look, now, self._context.settings().snapshots.late_within)
        following = next_slot(row.cron, row.time_zone, now)
        found = ScheduleFindings(decision, look, row.next_at, following, now)
        again = now + _SOON if isinstance(decision, Defer) else following
        return Step(again, lambda session: record(session, row.id, found))

    @override
    def on_failure(self, session: Session, row_id: str, trouble: Trouble, /) -> None:
        """Shows on the card why steps fail, from the second failure on."""
        note_failure(session, session.get(SnapshotSchedule, row_id), trouble, live=False)

    def _look(self, row: SnapshotSchedule) -> ScheduleObserved:
        cluster = self._context.cluster(row.cluster, "its snapshots are gone")
        around = live(cluster, row.namespace, row.claim_name)
        plan = examine(around, row.claim_name, row.team, self._context.settings().snapshots)
        claim = around.claim
        if claim is None or claim.metadata.deletion_timestamp is not None:
            return ScheduleObserved(has_claim=False, plan=plan)
        busy = self._context.database.read(lambda session: _busy(session, row, claim.uid))
        others = tuple(foreign_schedules(cluster, row.namespace, claim.labels))
        return ScheduleObserved(has_claim=True, plan=plan, busy=busy, others=others)


def _busy(session: Session, row: SnapshotSchedule, claim_uid: str) -> str:
    """What the next snapshot waits for, as a sentence."""
    back = finding.reverting(session, row.cluster, row.namespace, row.claim_name)
    if back is not None:
        return (
            f"Waiting for the revert of the PVC to {back.snapshot}, which has to stay its newest"
            " snapshot."
        )
    other = finding.under_way(session, row.cluster, claim_uid)
    return f"Waiting for {other.name}, which is being taken." if other is not None else ""


def foreign_schedules(
    cluster: Cluster, namespace: str, labels: Mapping[str, str] | None
) -> list[str]:
    """Schedules of snapscheduler in a namespace; with `labels`, those that cover such a PVC."""
    return sorted(
        f"{each.name} ({each.spec.schedule})"
        for each in cluster.view.all(FOREIGN_SCHEDULES, namespace)
        if labels is None or each.may_cover(labels)
    )
