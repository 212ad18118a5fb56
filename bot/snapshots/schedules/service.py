"""Creates, changes and stops snapshot schedules. Only checks and writes rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from sqlmodel import Session, col, select

from bot.audit import Actor, record
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PVCS
from bot.config import Settings, Team
from bot.errors import ConflictError, NotAllowedError, NotFoundError, UsageError
from bot.people.access import Caller, Right, bound
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.schedule import next_slot, upcoming
from bot.slack.markup import FormatCommand
from bot.slack.messages import refresh_cards, show_card
from bot.snapshots.examining import SnapshotPlan
from bot.snapshots.planning import plan_of
from bot.snapshots.schedules import notices as notes
from bot.snapshots.schedules.controller import foreign_schedules
from bot.snapshots.tables import SCHEDULE, Snapshot, SnapshotPhase, SnapshotSchedule

USUAL_MOST = 14
_EXAMPLE = "0 2 * * *"
SHORTEST = timedelta(minutes=10)


@dataclass(frozen=True)
class ScheduleRequest:
    """A requested schedule; None for `keep` or `most` means no such limit."""

    claim: str
    cron: str
    keep: timedelta | Literal["off"] | None = None
    most: int | None = None
    cluster: str | None = None
    team: str | None = None


class ScheduleService:
    """The service that handlers call; each method writes in the caller's transaction.

    The right of a `Caller` to use the verb was checked before. `words` formats a command as it is
    typed.
    """

    def __init__(
        self,
        settings: Callable[[], Settings],
        clusters: Mapping[str, Cluster],
        format_command: FormatCommand,
    ) -> None:
        self._settings = settings
        self._clusters = clusters
        self._format_command = format_command

    def schedule(
        self, session: Session, caller: Caller, request: ScheduleRequest, now: datetime
    ) -> SnapshotSchedule:
        """Creates or changes the schedule of a PVC; raises UserError if impossible.

        The cron pattern is in the team's time zone.
        """
        team = bound(caller.team or "", self._team(caller), request.cluster)
        slots = upcoming(request.cron, team.time_zone, now, SHORTEST)
        cluster, settings = self._clusters[team.cluster], self._settings().snapshots
        plan = plan_of(cluster, caller.team or "", team, request.claim, settings)
        keep = None if request.keep == "off" else request.keep
        most = USUAL_MOST if keep is None and request.most is None else request.most
        self._refuse_too_many(plan, slots, keep, most)
        row = _live(session, team, request.claim)
        is_new = row is None
        if row is None:
            row = _row(caller, team, request.claim, now)
        self._refuse_others(caller, row)
        row.cron, row.time_zone, row.next_at = (
            " ".join(request.cron.split()),
            team.time_zone,
            slots[0],
        )
        row.keep_seconds = None if keep is None else int(keep.total_seconds())
        row.most, row.obstacle, row.trouble, row.missing_since = most, "", "", None
        row.others = self.others(row)
        self._write(session, caller, row, now, is_new=is_new)
        return row

    def find(
        self, session: Session, caller: Caller, claim: str, cluster: str | None
    ) -> SnapshotSchedule:
        """The team's schedule of a PVC; NotFoundError lists the others, or the clusters.

        A cluster that the team no longer has may be named.
        """
        there = self.listing(session, caller.team or "")
        found = [
            each for each in there if each.claim_name == claim and cluster in {None, each.cluster}
        ]
        if len(found) > 1:
            named = ", ".join(each.cluster for each in found)
            raise UsageError(
                f"PVC {claim} has schedules in {named}.", "Choose one with --cluster NAME."
            )
        if not found:
            bound(caller.team or "", self._team(caller), cluster)
            known = ", ".join(each.claim_name for each in there)
            example = self._format_command(f'snapshot schedule {claim} "{_EXAMPLE}"')
            raise NotFoundError(
                f"PVC {claim} has no snapshot schedule.",
                f"PVCs with a schedule: {known}." if known else f"To create one: `{example}`",
            )
        return found[0]

    def get(self, session: Session, row_id: str) -> SnapshotSchedule:
        """The schedule of a button; NotFoundError where there is none."""
        row = session.get(SnapshotSchedule, row_id)
        if row is None:
            raise NotFoundError("This schedule no longer exists.")
        return row

    def unschedule(
        self, session: Session, caller: Caller, row: SnapshotSchedule, now: datetime
    ) -> SnapshotSchedule:
        """Stops a schedule; its snapshots stay."""
        if caller.team != row.team:
            raise NotAllowedError(
                f"This schedule belongs to {row.team}.", "Ask a member of that team."
            )
        self._refuse_others(caller, row)
        if not row.is_live:
            raise ConflictError(f"The schedule of {row.claim_name} has already stopped.")
        row.ended_at, row.obstacle, row.trouble = now, "", ""
        row.said = f"<@{caller.person}> stopped it."
        session.add(row)
        facts = {"pvc": row.claim_name}
        record(session, _actor(caller), "snapshot.unschedule", (SCHEDULE, row.id), facts, at=now)
        refresh_cards(session, row.subject, live=False)
        return row

    def listing(self, session: Session, team: str) -> Sequence[SnapshotSchedule]:
        """A team's schedules that have not stopped, by PVC."""
        live = select(SnapshotSchedule).where(
            col(SnapshotSchedule.team) == team, col(SnapshotSchedule.ended_at).is_(None)
        )
        return session.exec(live.order_by(col(SnapshotSchedule.claim_name))).all()

    def others(self, row: SnapshotSchedule) -> list[str]:
        """The schedules of snapscheduler that take snapshots of the same PVC."""
        cluster = self._clusters[row.cluster]
        claim = cluster.view.get(PVCS, row.claim_name, row.namespace)
        return foreign_schedules(cluster, row.namespace, claim.labels if claim is not None else {})

    def foreign(self, team: str) -> list[str]:
        """The schedules of snapscheduler in a team's namespaces."""
        found = self._settings().teams[team]
        return [
            each
            for cluster in found.reach
            if cluster in self._clusters
            for each in foreign_schedules(
                self._clusters[cluster], found.on(cluster).namespace, None
            )
        ]

    def _refuse_too_many(
        self,
        plan: SnapshotPlan,
        slots: Sequence[datetime],
        keep: timedelta | None,
        most: int | None,
    ) -> None:
        limit = self._settings().snapshots.limits.get(plan.driver)
        apart = (slots[-1] - slots[0]) / (len(slots) - 1)
        wanted = most if most is not None else int((keep or apart) / apart)
        if limit is not None and wanted > limit:
            raise UsageError(
                f"That keeps {wanted} snapshots, but a volume of {plan.driver} can have {limit}.",
                f"Keep fewer, for example --max {USUAL_MOST}.",
            )

    def _refuse_others(self, caller: Caller, row: SnapshotSchedule) -> None:
        if row.person != caller.person and not caller.may(Right.SNAPSHOT_DELETE_ANY):
            raise NotAllowedError(
                f"<@{row.person}> set up the schedule of {row.claim_name}.",
                "They, a lead of the team or an admin can change or stop it.",
            )

    def _write(
        self,
        session: Session,
        caller: Caller,
        row: SnapshotSchedule,
        now: datetime,
        *,
        is_new: bool,
    ) -> None:
        session.add(row)
        session.flush()
        facts = {"pvc": row.claim_name, "cron": row.cron, "zone": row.time_zone}
        facts |= {"keep": str(row.keep), "most": str(row.most)}
        record(session, _actor(caller), "snapshot.schedule", (SCHEDULE, row.id), facts, at=now)
        if is_new:
            show_card(session, row.subject, row.channel, now, live=False, owner=row.person)
        else:
            refresh_cards(session, row.subject, live=False)
        wake(session, SCHEDULE, row.id, cluster_lane(row.cluster), now)

    def _team(self, caller: Caller) -> Team:
        return self._settings().teams[caller.team or ""]


def following(row: SnapshotSchedule) -> datetime:
    """The slot after the next one."""
    return next_slot(row.cron, row.time_zone, row.next_at)


def _live(session: Session, team: Team, claim: str) -> SnapshotSchedule | None:
    return session.exec(
        select(SnapshotSchedule).where(
            col(SnapshotSchedule.cluster) == team.cluster,
            col(SnapshotSchedule.namespace) == team.namespace,
            col(SnapshotSchedule.claim_name) == claim,
            col(SnapshotSchedule.ended_at).is_(None),
        )
    ).first()


def _row(caller: Caller, team: Team, claim: str, now: datetime) -> SnapshotSchedule:
    return SnapshotSchedule(
        workspace_id=caller.workspace_id,
        team=caller.team or "",
        person=caller.person,
        channel=caller.channel,
        cluster=team.cluster,
        namespace=team.namespace,
        claim_name=claim,
        cron="",
        time_zone=team.time_zone,
        asked_at=now,
        next_at=now,
    )


def _actor(caller: Caller) -> Actor:
    return Actor(caller.workspace_id, caller.person, caller.channel, caller.team)


def on_snapshot_change(session: Session, row: Snapshot, now: datetime) -> None:
    """Updates the schedule of a changed snapshot: posts failures, and wakes what waits for it."""
    schedule = session.get(SnapshotSchedule, row.schedule_id)
    if schedule is None:
        return
    if row.phase == SnapshotPhase.READY:
        schedule.failures, schedule.reported_at = 0, None
    if row.phase == SnapshotPhase.FAILED:
        slot = row.slot or row.asked_at
        notes.failed(session, schedule, slot, row.reason, row.unblock, now)
    session.add(schedule)
    refresh_cards(session, schedule.subject, live=False)
    if schedule.is_live:
        wake(session, SCHEDULE, schedule.id, cluster_lane(schedule.cluster), now)
