"""Requests reverts of PVCs in place. Only checks and writes rows; controllers do the rest."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, select

from bot import holds
from bot.approvals import Approvals, Request
from bot.approvals.deciding import places
from bot.audit import Actor, record
from bot.cluster.cluster import Cluster
from bot.cluster.resources import STORAGE_CLASSES
from bot.config import ClusterSettings, Settings
from bot.errors import ConflictError, NotAllowedError, NotFoundError
from bot.holds import Hold
from bot.people.access import Access, Caller, Right
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.slack.markup import FormatCommand
from bot.slack.messages import show_card
from bot.snapshots import finding
from bot.snapshots.classes import READ_WRITE_ONCE, Problem, access_mode
from bot.snapshots.copies.finding import copying
from bot.snapshots.examining import in_view
from bot.snapshots.reverts.checks import Target, cannot, hindrance, pods_in_view
from bot.snapshots.tables import REVERT, SNAPSHOT, Revert, Snapshot
from bot.volumes.records import ClaimPlace, refuse_stale

_LATE = "WaitForFirstConsumer"
POLICY = "snapshot_restore"


@dataclass(frozen=True)
class RevertOffer:
    """A possible revert; `unsaved` says why the PVC cannot be cloned first, if so."""

    snapshot: Snapshot
    why: str
    unsaved: str


class RevertService:
    """The service that handlers call; each method writes in the caller's transaction.

    The right of a `Caller` to use the verb was checked before. `words` formats a command as it is
    typed.
    """

    def __init__(
        self,
        settings: Callable[[], Settings],
        access: Access,
        approvals: Approvals,
        clusters: Mapping[str, Cluster],
        format_command: FormatCommand,
    ) -> None:
        self._settings = settings
        self._access = access
        self._approvals = approvals
        self._clusters = clusters
        self._format_command = format_command

    def offer(self, session: Session, caller: Caller, row: Snapshot, why: str) -> RevertOffer:
        """What a revert would do, before it is requested; raises UserError if impossible."""
        self._refuse(session, caller, row)
        return RevertOffer(row, why, self._unsaved(row))

    def ask(
        self, session: Session, caller: Caller, offer: RevertOffer, now: datetime, *, saves: bool
    ) -> Revert:
        """Requests a revert, which others decide; raises UserError if impossible.

        With `saves` the PVC is cloned first, once the revert is approved.
        """
        snapshot = offer.snapshot
        self._refuse(session, caller, snapshot)
        if saves and offer.unsaved:
            raise ConflictError(offer.unsaved, "Request it without a clone.")
        row = self._row(caller, snapshot, now)
        row.why, row.saves = offer.why, saves
        session.add(row)
        session.flush()
        hold = Hold(
            thing_kind=SNAPSHOT, thing_id=snapshot.id, subject_kind=REVERT, subject_id=row.id,
            why=f"The revert of {row.claim_name}", until=None,
        )  # fmt: skip
        holds.take(session, hold)
        request = Request(
            REVERT, row.id, cluster_lane(row.cluster), POLICY, row.digest, caller, row.why
        )
        self._approvals.ask(session, request, now)
        self._show(session, row, now)
        facts = {"pvc": row.claim_name, "snapshot": row.snapshot, "clone": str(saves)}
        actor = Actor(caller.workspace_id, caller.person, caller.channel, caller.team)
        record(session, actor, "snapshot.revert", (REVERT, row.id), facts, at=now)
        wake(session, REVERT, row.id, cluster_lane(row.cluster), now)
        return row

    def get(self, session: Session, row_id: str) -> Revert:
        """The revert of a button; raises NotFoundError if there is none."""
        row = session.get(Revert, row_id)
        if row is None:
            raise NotFoundError("This revert no longer exists.")
        return row

    def cancel(self, session: Session, caller: Caller, row: Revert, now: datetime) -> Revert:
        """Cancels a revert, unless Trident has started; raises UserError if impossible."""
        if caller.team != row.team:
            raise NotAllowedError(
                f"This revert belongs to {row.team}.", "Ask a member of that team."
            )
        if row.person != caller.person and not caller.may(Right.SNAPSHOT_DELETE_ANY):
            raise NotAllowedError(
                f"<@{row.person}> requested this revert.",
                "They, a lead of the team or an admin can cancel it.",
            )
        if not row.is_live:
            raise ConflictError(f"The revert of {row.claim_name} has already ended.")
        row.cancelled_by = caller.person
        session.add(row)
        facts = {"pvc": row.claim_name, "snapshot": row.snapshot}
        actor = Actor(caller.workspace_id, caller.person, caller.channel, caller.team)
        record(session, actor, "snapshot.cancel", (REVERT, row.id), facts, at=now)
        wake(session, REVERT, row.id, cluster_lane(row.cluster), now)
        return row

    def undecided(self, session: Session) -> Sequence[Revert]:
        """The reverts that wait for a decision, the oldest first."""
        asked = select(Revert).where(col(Revert.phase) == "asked").order_by(col(Revert.id))
        return session.exec(asked).all()

    def _refuse(self, session: Session, caller: Caller, row: Snapshot) -> None:
        if caller.team != row.team:
            raise NotAllowedError(
                f"{row.name} belongs to {row.team}.", "Ask a member of that team."
            )
        if not row.is_usable:
            raise ConflictError(
                f"{row.name} cannot be restored: it is not ready, or is being deleted.",
                "Its card shows its state.",
            )
        other = finding.reverting(session, row.cluster, row.namespace, row.claim_name)
        if other is not None:
            raise ConflictError(
                f"<@{other.person}> already requested a revert of PVC {row.claim_name}.",
                f"Its card in <#{other.channel}> shows the progress.",
            )
        place = ClaimPlace(row.cluster, row.namespace, row.claim_name)
        copy = next(iter(copying(session, *place)), None)
        if copy is not None:
            raise ConflictError(
                f"<@{copy.person}> requested to copy PVC {copy.claim_name} to {copy.target}.",
                f"Its card in <#{copy.channel}> shows the progress.",
            )
        refuse_stale(session, place, "reverted")
        cluster = self._clusters[row.cluster]
        target = _target(row, self._format_command)
        problem = cannot(row.driver, cluster, target) or hindrance(
            in_view(cluster, row.namespace, row.claim_name),
            pods_in_view(cluster, row.namespace),
            target,
        )
        if isinstance(problem, Problem):
            raise ConflictError(problem.reason, problem.unblock)

    def _unsaved(self, row: Snapshot) -> str:
        kind = self._clusters[row.cluster].view.get(STORAGE_CLASSES, row.storage_class)
        if kind is not None and kind.volume_binding_mode != _LATE:
            return ""
        return (
            f"The data of {row.claim_name} cannot be cloned first: {row.storage_class} creates"
            " volumes only for a pod."
        )

    def _row(self, caller: Caller, snapshot: Snapshot, now: datetime) -> Revert:
        kind = self._clusters[snapshot.cluster].view.get(STORAGE_CLASSES, snapshot.storage_class)
        told = self._settings().clusters.get(snapshot.cluster, ClusterSettings()).access_modes
        modes = {name: str(mode) for name, mode in told.items()}
        return Revert(
            workspace_id=caller.workspace_id,
            team=snapshot.team,
            person=caller.person,
            channel=caller.channel,
            cluster=snapshot.cluster,
            namespace=snapshot.namespace,
            snapshot_id=snapshot.id,
            snapshot=snapshot.name,
            snapshot_uid=snapshot.uid or "",
            shows_at=snapshot.taken_at or snapshot.asked_at,
            claim_name=snapshot.claim_name,
            claim_uid=snapshot.claim_uid,
            storage_class=snapshot.storage_class,
            access_mode=READ_WRITE_ONCE if kind is None else access_mode(kind, modes),
            size_bytes=snapshot.capacity_bytes,
            asked_at=now,
            since=now,
        )

    def _show(self, session: Session, row: Revert, now: datetime) -> None:
        """Posts a card in the channel of the request, and one for the approvers."""
        show_card(session, row.subject, row.channel, now, live=False, owner=row.person)
        settings = self._settings()
        circle = settings.approvals.snapshot_restore.approvers
        deciders = sorted(self._access.people_in(session, circle) - {row.person})
        for each in places(settings, deciders):
            show_card(session, row.subject, each, now, live=False, owner=deciders[0])


def target_of(row: Revert, format_command: FormatCommand) -> Target:
    """The PVC and the snapshot of a revert."""
    again = format_command(f"snapshot restore {row.snapshot} --as {row.claim_name}-before")
    return Target(row.team, row.claim_name, row.claim_uid, row.snapshot, row.snapshot_uid, again)


def _target(row: Snapshot, format_command: FormatCommand) -> Target:
    again = format_command(f"snapshot restore {row.name} --as {row.claim_name}-before")
    return Target(row.team, row.claim_name, row.claim_uid, row.name, row.uid or "", again)
