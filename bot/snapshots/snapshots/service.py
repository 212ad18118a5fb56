"""Takes, deletes and pins snapshots. Only checks and writes rows; controllers do the rest."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from sqlmodel import Session, col, select

from bot import holds
from bot.audit import Actor, record
from bot.cluster.cluster import Cluster
from bot.cluster.resources import SNAPSHOTS
from bot.config import Settings, Team
from bot.database.columns import new_id
from bot.datasets.wording import name_of
from bot.errors import ConflictError, NotAllowedError, NotFoundError
from bot.holds import Hold
from bot.people.access import Caller, Right, bound
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.slack.card import Card
from bot.slack.markup import FormatCommand
from bot.slack.messages import refresh_cards, show_card
from bot.snapshots import finding
from bot.snapshots.examining import SnapshotPlan
from bot.snapshots.keepers import PIN, keeping, lost_with
from bot.snapshots.objects import object_name
from bot.snapshots.planning import kept_until, plan_of
from bot.snapshots.snapshots.card import snapshot_card
from bot.snapshots.tables import (
    SNAPSHOT,
    Restore,
    Snapshot,
    SnapshotIntent,
    SnapshotPhase,
    SnapshotSchedule,
)
from bot.volumes.records import ClaimPlace, refuse_stale


@dataclass(frozen=True)
class SnapshotRequest:
    """A requested snapshot; with `keep` None it is kept as long as the settings say."""

    claim: str
    note: str = ""
    keep: timedelta | Literal["off"] | None = None
    cluster: str | None = None
    team: str | None = None


@dataclass(frozen=True)
class Pinning:
    """A requested pin."""

    reason: str
    until: datetime


class SnapshotService:
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

    def take(
        self, session: Session, caller: Caller, request: SnapshotRequest, now: datetime
    ) -> Snapshot:
        """Begins a snapshot of a PVC; raises UserError if impossible."""
        row = self.foresee(session, caller, request, now)
        begin(session, row, now)
        facts = {"pvc": row.claim_name, "name": row.name} | ({"note": row.note} if row.note else {})
        record(session, _actor(caller), "snapshot.create", (SNAPSHOT, row.id), facts, at=now)
        return row

    def foresee(
        self, session: Session, caller: Caller, request: SnapshotRequest, now: datetime
    ) -> Snapshot:
        """The snapshot that would be taken, which is not stored; UserError if impossible."""
        team = bound(caller.team or "", self._team(caller), request.cluster)
        refuse_stale(
            session, ClaimPlace(team.cluster, team.namespace, request.claim), "snapshotted"
        )
        cluster, settings = self._clusters[team.cluster], self._settings().snapshots
        plan = plan_of(cluster, caller.team or "", team, request.claim, settings)
        back = finding.reverting(session, team.cluster, team.namespace, request.claim)
        if back is not None:
            raise ConflictError(
                f"PVC {request.claim} is to be reverted to {back.snapshot}, which has to stay its"
                " newest snapshot until then.",
                f"Its card in <#{back.channel}> shows the progress. It can be cancelled there.",
            )
        other = finding.under_way(session, team.cluster, plan.claim_uid)
        if other is not None:
            raise ConflictError(
                f"A snapshot of {request.claim} is already being taken: {other.name}.",
                f"Its card in <#{other.channel}> shows the progress. Take another one when it"
                " is ready.",
            )
        row = _row(caller, team, request.claim, plan, now)
        row.note, row.keep_until = request.note, self.until(request.keep, now)
        return row

    def find(self, session: Session, team: str, name: str) -> Snapshot:
        """The snapshot of that name, or the newest of the PVC of that name."""
        return finding.named(session, team, name, self._format_command)

    def get(self, session: Session, row_id: str) -> Snapshot:
        """The snapshot of a button; NotFoundError where there is none."""
        row = session.get(Snapshot, row_id)
        if row is None:
            raise NotFoundError("This snapshot no longer exists.")
        return row

    def listing(self, session: Session, team: str, claim: str | None) -> Sequence[Snapshot]:
        """A team's snapshots that are there, or of one PVC, the newest first."""
        return finding.of_team(session, team, claim)

    def endless(self, session: Session, team: str, now: datetime) -> list[Snapshot]:
        """A team's snapshots without an end that nothing holds and no schedule replaces."""
        held = holds.held(session, SNAPSHOT, now)
        return [
            each
            for each in finding.of_team(session, team)
            if each.is_usable
            and each.keep_until is None
            and each.schedule_id is None
            and each.id not in held
        ]

    def lost(self, session: Session, row: Snapshot) -> list[str]:
        """What is lost with a snapshot, as sentences."""
        return list(lost_with(session, row))

    def details(
        self, session: Session, row: Snapshot, now: datetime
    ) -> tuple[Card, Snapshot, Sequence[Restore], list[str]]:
        """A snapshot's card and row, the PVCs created from it, and what deleting it would lose."""
        person = name_of(session, row.workspace_id, row.person)
        card = snapshot_card(row, person, keeping(session, row, now), now)
        return card, row, finding.made_from(session, row.id), self.lost(session, row)

    def foreign(self, session: Session, team: str, claim: str | None) -> list[str]:
        """VolumeSnapshots in the team's namespaces that are not ours, as the watches show them.

        Each is its name, with what created it if that is known.
        """
        ours = {each.name for each in finding.of_team(session, team)}
        found = self._settings().teams[team]
        return sorted(
            f"{each.name} (by snapscheduler)" if _SCHEDULED in each.labels else each.name
            for cluster in found.reach
            if cluster in self._clusters
            for each in self._clusters[cluster].view.all(SNAPSHOTS, found.on(cluster).namespace)
            if each.name not in ours and claim in {None, each.claim_name}
        )

    def refuse_deleting(
        self, session: Session, caller: Caller, row: Snapshot, now: datetime
    ) -> None:
        """Raises UserError if the caller may not delete the snapshot, or it is held."""
        self._refuse_other_team(caller, row)
        if row.person != caller.person and not caller.may(Right.SNAPSHOT_DELETE_ANY):
            raise NotAllowedError(
                f"<@{row.person}> took {row.name}.",
                "They, a lead of the team or an admin can delete it.",
            )
        self._refuse_leaving(row)
        keepers = keeping(session, row, now)
        if keepers:
            unpin = self._format_command(f"snapshot unpin {row.name}")
            raise ConflictError(
                f"{row.name} cannot be deleted now. {' '.join(keepers)}",
                f"Wait until that has ended, or remove pins: `{unpin}`.",
            )

    def delete(self, session: Session, caller: Caller, row: Snapshot, now: datetime) -> Snapshot:
        """Marks a snapshot for deletion, unless it is held; its controller checks the cluster."""
        self.refuse_deleting(session, caller, row, now)
        mark_deleted(session, row, _actor(caller), now)
        return row

    def pin(
        self, session: Session, caller: Caller, row: Snapshot, asked: Pinning, now: datetime
    ) -> Snapshot:
        """Pins a snapshot until a time; replaces an earlier pin of the same person."""
        self._refuse_other_team(caller, row)
        self._refuse_leaving(row)
        why = asked.reason.rstrip(".")
        holds.take(
            session,
            Hold(
                thing_kind=SNAPSHOT,
                thing_id=row.id,
                subject_kind=PIN,
                subject_id=caller.person,
                why=why,
                until=asked.until,
            ),
        )
        facts = {"name": row.name, "reason": why, "until": asked.until.isoformat()}
        record(session, _actor(caller), "snapshot.pin", (SNAPSHOT, row.id), facts, at=now)
        refresh_cards(session, row.subject, live=False)
        return row

    def unpin(
        self, session: Session, caller: Caller, row: Snapshot, *, everybody: bool, now: datetime
    ) -> list[str]:
        """Removes the caller's pin, or all pins; returns the people whose pins were removed."""
        self._refuse_other_team(caller, row)
        held = holds.on(session, SNAPSHOT, row.id, now)
        pins = [each for each in held if each.subject_kind == PIN]
        mine = [each for each in pins if everybody or each.subject_id == caller.person]
        others = ", ".join(f"<@{each.subject_id}>" for each in pins)
        if not mine:
            hint = f"It is pinned by {others}; a lead can add --all." if others else ""
            raise ConflictError(f"You have not pinned {row.name}.", hint)
        is_mine = all(each.subject_id == caller.person for each in mine)
        if not is_mine and not caller.may(Right.SNAPSHOT_DELETE_ANY):
            raise NotAllowedError(
                f"{row.name} is pinned by {others}.",
                "They, a lead of the team or an admin can unpin it.",
            )
        for each in mine:
            holds.let_go(session, (SNAPSHOT, row.id), (PIN, each.subject_id))
        people = sorted(each.subject_id for each in mine)
        facts = {"name": row.name, "of": ", ".join(people)}
        record(session, _actor(caller), "snapshot.unpin", (SNAPSHOT, row.id), facts, at=now)
        refresh_cards(session, row.subject, live=False)
        return people

    def until(self, keep: timedelta | Literal["off"] | None, now: datetime) -> datetime | None:
        """When a snapshot expires; None if it is kept until it is deleted."""
        return kept_until(keep, self._settings().snapshots, now)

    def _refuse_other_team(self, caller: Caller, row: Snapshot) -> None:
        if caller.team != row.team:
            raise NotAllowedError(
                f"This snapshot belongs to {row.team}.", "Ask a member of that team."
            )

    def _refuse_leaving(self, row: Snapshot) -> None:
        if not row.is_live:
            raise ConflictError(f"{row.name} does not exist: {_ENDED[SnapshotPhase(row.phase)]}.")
        if row.wanted == SnapshotIntent.DELETED:
            raise ConflictError(f"{row.name} is being deleted.", "Its card shows the progress.")

    def _team(self, caller: Caller) -> Team:
        return self._settings().teams[caller.team or ""]


def begin(session: Session, row: Snapshot, now: datetime) -> None:
    """Stores a new snapshot with its card, and wakes its controller."""
    session.add(row)
    session.flush()
    show_card(session, row.subject, row.channel, now, live=True, owner=row.person)
    wake(session, SNAPSHOT, row.id, cluster_lane(row.cluster), now)


def mark_deleted(session: Session, row: Snapshot, actor: Actor, now: datetime) -> None:
    """Marks a snapshot that is not held for deletion, and wakes its controller."""
    row.wanted, row.deleted_by = SnapshotIntent.DELETED, actor.person
    session.add(row)
    facts = {"name": row.name, "pvc": row.claim_name}
    record(session, actor, "snapshot.delete", (SNAPSHOT, row.id), facts, at=now)
    refresh_cards(session, row.subject, live=True)
    wake(session, SNAPSHOT, row.id, cluster_lane(row.cluster), now)


def _row(caller: Caller, team: Team, claim: str, plan: SnapshotPlan, now: datetime) -> Snapshot:
    row_id = new_id()
    return Snapshot(
        id=row_id,
        workspace_id=caller.workspace_id,
        team=caller.team or "",
        person=caller.person,
        channel=caller.channel,
        cluster=team.cluster,
        namespace=team.namespace,
        claim_name=claim,
        claim_uid=plan.claim_uid,
        storage_class=plan.storage_class,
        driver=plan.driver,
        capacity_bytes=plan.capacity_bytes,
        name=object_name(claim, row_id),
        asked_at=now,
        since=now,
    )


def _actor(caller: Caller) -> Actor:
    return Actor(caller.workspace_id, caller.person, caller.channel, caller.team)


# The label of snapshots that snapscheduler creates.
_SCHEDULED = "snapscheduler.backube/schedule"
_ENDED = {
    SnapshotPhase.DELETED: "it was deleted",
    SnapshotPhase.FAILED: "it was not taken",
}


def expire(session: Session, now: datetime) -> None:
    """Marks expired snapshots for deletion, except the newest of a PVC and those that are held."""
    _thin_out(session, now)
    due = session.exec(
        select(Snapshot)
        .where(
            col(Snapshot.keep_until) <= now,
            col(Snapshot.ended_at).is_(None),
            col(Snapshot.phase) == SnapshotPhase.READY,
            col(Snapshot.wanted) == SnapshotIntent.KEPT,
        )
        .order_by(col(Snapshot.id))
    ).all()
    for row in due:
        newest = finding.newest_ready(session, row)
        is_last = newest is None or newest.id == row.id
        if not is_last and not holds.on(session, SNAPSHOT, row.id, now):
            actor = Actor(row.workspace_id, None, None, row.team)
            mark_deleted(session, row, actor, now)


def _thin_out(session: Session, now: datetime) -> None:
    """Expires snapshots for which a schedule has enough newer ones.

    Only snapshots that are ready and not held count, so that a pin does not displace others.
    """
    limited = select(SnapshotSchedule).where(
        col(SnapshotSchedule.ended_at).is_(None), col(SnapshotSchedule.most).is_not(None)
    )
    for schedule in session.exec(limited).all():
        for row in _counted(session, schedule, now)[schedule.most :]:
            row.is_surplus = True
            row.keep_until = min(row.keep_until or now, now)
            session.add(row)
    session.flush()


def _counted(session: Session, schedule: SnapshotSchedule, now: datetime) -> list[Snapshot]:
    """The snapshots that count, the newest first."""
    ready = finding.ready_on(session, schedule.id)
    return [
        each
        for each in ready
        if not each.is_surplus and not holds.on(session, SNAPSHOT, each.id, now)
    ]
