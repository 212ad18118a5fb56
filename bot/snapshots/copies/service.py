"""Requests copies of PVCs. Only checks and writes rows; the controller does the rest."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from sqlmodel import Session, col, select

from bot.approvals import Approvals, Request
from bot.approvals.deciding import show_to_deciders
from bot.audit import Actor, record
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PVCS, STORAGE_CLASSES
from bot.cluster.types.claims import PersistentVolumeClaim, StorageClass
from bot.config import ClusterSettings, Settings
from bot.database.columns import new_id
from bot.errors import ConflictError, NotAllowedError, NotFoundError
from bot.people.access import Caller
from bot.reconcile.due import wake
from bot.slack.markup import FormatCommand
from bot.slack.messages import refresh_cards, show_card
from bot.snapshots import finding
from bot.snapshots.claims.found import ClaimSummary
from bot.snapshots.classes import Problem
from bot.snapshots.copies import classes
from bot.snapshots.copies.plan import MOST_BYTES, ONE_POD, CopyPlan, CopyRequest, hindrance
from bot.snapshots.copies.record import finish
from bot.snapshots.copies.tables import COPY, Copy, CopyPhase, CopySource
from bot.snapshots.examining import examine, in_view
from bot.snapshots.objects import object_name
from bot.snapshots.planning import refuse_unserved
from bot.snapshots.resizes.service import POLICY
from bot.snapshots.tables import Restore
from bot.volumes.records import ClaimPlace, refuse_stale
from bot.volumes.wording import capacity

_MOST_NAMED = 5


def image_of(settings: Settings) -> str | None:
    """The image that copies run; None if copies are not set up."""
    datasets = settings.datasets
    return settings.pvcs.copies.image or (datasets.image if datasets is not None else None)


class CopyService:
    """The service that handlers call; each method writes in the caller's transaction.

    The right of a `Caller` to use the verb was checked before.
    """

    def __init__(
        self,
        settings: Callable[[], Settings],
        approvals: Approvals,
        clusters: Mapping[str, Cluster],
        format_command: FormatCommand,
    ) -> None:
        self._settings = settings
        self._approvals = approvals
        self._clusters = clusters
        self._format_command = format_command

    def plan(self, session: Session, asked: CopyRequest, found: ClaimSummary) -> CopyPlan:
        """What the copy would do, as rows and watches show it; UserError if impossible."""
        claim, settings = found.claim, self._settings()
        if claim.uid != asked.uid:
            raise ConflictError(
                f"PVC {asked.claim} is now a different PVC of the same name. Nothing was copied.",
                f"Look at it first: `{self._format_command(f'pvc show {asked.claim}')}`.",
            )
        if image_of(settings) is None:
            raise ConflictError(
                "Copies of PVCs are not set up here.",
                "A platform admin can set pvcs.copies.image in quartermaster.yaml to the bot's own"
                " image.",
            )
        problem = hindrance(claim)
        if problem is not None:
            raise ConflictError(problem.reason, problem.unblock)
        place = ClaimPlace(found.cluster, claim.namespace, claim.name)
        refuse_stale(session, place, "copied")
        _refuse_busy(session, place, asked.target)
        kind, can_clone = self._class(asked, found)
        left = self._resumed(session, asked, found)
        snapshot_class = self._freeze(asked, found)
        size = left.requested_bytes or 0 if left is not None else _size_of(asked, found)
        plan = CopyPlan(
            claim,
            left.spec.storage_class_name or "" if left is not None else kind.name,
            size,
            None,
            found.cost,
            snapshot_class,
            left.uid if left is not None else None,
            can_clone=can_clone and left is None,
        )
        return self._priced(plan, found.cluster)

    def begin(
        self,
        session: Session,
        caller: Caller,
        asked: CopyRequest,
        found: ClaimSummary,
        now: datetime,
    ) -> Copy:
        """Begins a copy, which its controller checks again and carries out."""
        plan = self.plan(session, asked, found)
        row = _row(caller, asked, found, plan, now)
        session.add(row)
        session.flush()
        facts = {"pvc": row.claim_name, "to": row.target, "class": row.storage_class,
                 "size": str(row.size_bytes), "reads": row.reads}  # fmt: skip
        actor = Actor(row.workspace_id, row.person, row.channel, row.team)
        record(session, actor, "pvc.copy", (COPY, row.id), facts, at=now)
        show_card(session, row.subject, row.channel, now, live=True, owner=row.person)
        if plan.needs_approval:
            self._ask(session, caller, row, now)
        wake(session, COPY, row.id, row.lane, now)
        return row

    def get(self, session: Session, row_id: str) -> Copy:
        """The copy of a button; raises NotFoundError if there is none."""
        row = session.get(Copy, row_id)
        if row is None:
            raise NotFoundError("This copy no longer exists.")
        return row

    def stop(self, session: Session, caller: Caller, row: Copy, now: datetime) -> None:
        """Stops a copy, or withdraws its request; raises UserError if impossible."""
        if caller.team != row.team:
            raise NotAllowedError(
                f"This copy is of a PVC of {row.team}.", "Ask a member of that team."
            )
        if not row.is_live or row.stopped_by is not None:
            raise ConflictError(
                f"The copy of {row.claim_name} has already ended, or is being stopped.",
                "Your click changed nothing.",
            )
        row.stopped_by = caller.person
        session.add(row)
        actor = Actor(caller.workspace_id, caller.person, caller.channel, row.team)
        record(session, actor, "pvc.copy_stop", (COPY, row.id), {"pvc": row.claim_name}, at=now)
        if row.phase == CopyPhase.ASKED:
            self._approvals.void_for(session, (COPY, row.id), "it was withdrawn", now)
            finish(session, row, CopyPhase.WITHDRAWN, now, self._format_command)
            return
        refresh_cards(session, row.subject, live=True)
        wake(session, COPY, row.id, row.lane, now)

    def undecided(self, session: Session) -> Sequence[Copy]:
        """The copies that wait for a decision, the oldest first."""
        asked = select(Copy).where(col(Copy.phase) == CopyPhase.ASKED)
        return session.exec(asked.order_by(col(Copy.id))).all()

    def _class(self, asked: CopyRequest, found: ClaimSummary) -> tuple[StorageClass, bool]:
        """The class of the new PVC, and whether its driver may clone the PVC to it."""
        settings = self._settings()
        told = settings.clusters.get(found.cluster, ClusterSettings()).access_modes
        datasets = settings.datasets
        usual = datasets.at(found.cluster).default_class if datasets is not None else None
        kinds = self._clusters[found.cluster].view.all(STORAGE_CLASSES)
        modes = {name: str(mode) for name, mode in told.items()}
        kind = classes.chosen(kinds, modes, asked.storage_class, usual, found.cluster)
        is_csi = found.volume is not None and found.volume.spec.csi is not None
        # Classes of one driver may lead to different storage, as those of Trident do.
        return kind, is_csi and kind.name == found.claim.spec.storage_class_name

    def _resumed(
        self, session: Session, asked: CopyRequest, found: ClaimSummary
    ) -> PersistentVolumeClaim | None:
        """The PVC that an earlier copy left; ConflictError if the name is taken."""
        claim = found.claim
        there = self._clusters[found.cluster].view.get(PVCS, asked.target, claim.namespace)
        if there is None:
            return None
        earlier = session.exec(
            select(Copy).where(
                col(Copy.cluster) == found.cluster,
                col(Copy.namespace) == claim.namespace,
                col(Copy.target_uid) == there.uid,
                col(Copy.claim_uid) == claim.uid,
                col(Copy.phase) == CopyPhase.FAILED,
            )
        ).first()
        if earlier is not None and there.metadata.deletion_timestamp is None:
            _refuse_other_size(asked, there)
            return there
        raise ConflictError(
            f"Namespace {claim.namespace} already has a PVC {asked.target}. Nothing was changed.",
            "Choose another name: --as NAME.",
        )

    def _freeze(self, asked: CopyRequest, found: ClaimSummary) -> str:
        """The snapshot class, if a snapshot is copied; ConflictError if the PVC cannot be read."""
        cluster, claim = self._clusters[found.cluster], found.claim
        if asked.reads == CopySource.SNAPSHOT:
            refuse_unserved(cluster)
            around = in_view(cluster, claim.namespace, claim.name)
            plan = examine(around, claim.name, asked.team, self._settings().snapshots)
            if isinstance(plan, Problem):
                raise ConflictError(plan.reason, plan.unblock)
            return plan.kind.name
        is_alone = ONE_POD in claim.spec.access_modes
        if found.users and (asked.reads == CopySource.IDLE or is_alone):
            raise _in_use(found, is_alone=is_alone)
        return ""

    def _priced(self, plan: CopyPlan, cluster: str) -> CopyPlan:
        datasets = self._settings().datasets
        known = datasets.at(cluster).classes.get(plan.storage_class) if datasets else None
        cost = known.monthly_price(plan.size_bytes) if known else None
        most = self._settings().pvcs.approve_above
        costs = most is not None and plan.resumed_uid is None and (cost is None or cost > most)
        return replace(plan, cost=cost, needs_approval=costs)

    def _ask(self, session: Session, caller: Caller, row: Copy, now: datetime) -> None:
        row.phase = CopyPhase.ASKED
        session.add(row)
        why = f"{row.claim_name} to {row.target}, {capacity(row.size_bytes)}"
        request = Request(COPY, row.id, row.lane, POLICY, row.digest, caller, why)
        approval = self._approvals.ask(session, request, now)
        show_to_deciders(session, self._approvals, self._settings(), approval, now)


def _row(
    caller: Caller, asked: CopyRequest, found: ClaimSummary, plan: CopyPlan, now: datetime
) -> Copy:
    claim, row_id = found.claim, new_id()
    modes = claim.status.access_modes or claim.spec.access_modes
    return Copy(
        id=row_id,
        workspace_id=caller.workspace_id,
        team=asked.team,
        person=caller.person,
        channel=caller.channel,
        cluster=found.cluster,
        namespace=claim.namespace,
        claim_name=claim.name,
        claim_uid=claim.uid,
        source_class=claim.spec.storage_class_name or "",
        source_bytes=claim.size_bytes or 0,
        access_mode=modes[0],
        reads=asked.reads,
        snapshot_class=plan.snapshot_class,
        target=asked.target,
        storage_class=plan.storage_class,
        size_bytes=plan.size_bytes,
        cost=plan.cost,
        source_cost=plan.source_cost,
        job_name=object_name(f"copy-{claim.name}", row_id),
        target_uid=plan.resumed_uid,
        asked_at=now,
        since=now,
    )


def _size_of(asked: CopyRequest, found: ClaimSummary) -> int:
    size = asked.size_bytes or found.claim.size_bytes or 0
    if size > MOST_BYTES:
        raise ConflictError(f"A PVC can have at most {capacity(MOST_BYTES)}.", "Ask for less.")
    return size


def _refuse_other_size(asked: CopyRequest, there: PersistentVolumeClaim) -> None:
    """ConflictError if the PVC that a copy goes on with has not the requested size."""
    has = there.requested_bytes or 0
    if asked.size_bytes and asked.size_bytes != has:
        raise ConflictError(
            f"An earlier copy left PVC {asked.target}, which has {capacity(has)}.",
            f"To go on with it, omit --size; `/pvc resize {asked.target} SIZE` makes it larger"
            " first. For another PVC: --as NAME.",
        )


def _in_use(found: ClaimSummary, *, is_alone: bool) -> ConflictError:
    """The error for a PVC that pods mount, with the ways to copy it nevertheless."""
    users = [f"pod {each.pod}" + (f" of run {each.run}" if each.run else "")
             for each in found.users]  # fmt: skip
    users = list(dict.fromkeys(users))
    named, more = users[:_MOST_NAMED], len(users) - _MOST_NAMED
    rest = f" and {more} more" if more > 0 else ""
    ways = ["--snapshot copies a snapshot of it, so that all files are of one moment"]
    if not found.has_snapshots:
        ways = []
    if not is_alone:
        ways.append("--live copies it while it changes, on the node that has it")
    advice = f" Or {', and '.join(ways)}." if ways else ""
    return ConflictError(
        f"PVC {found.claim.name} is mounted now, by {', '.join(named)}{rest}. Files that change"
        " while they are copied would not fit each other.",
        f"Copy it when they have ended.{advice}",
    )


def _refuse_busy(session: Session, place: ClaimPlace, target: str) -> None:
    """Raises ConflictError while another change of the PVC, or of the new name, is in progress."""
    revert = finding.reverting(session, *place)
    if revert is not None:
        raise ConflictError(
            f"PVC {place.name} is being reverted to snapshot {revert.snapshot}.",
            f"Its card in <#{revert.channel}> shows the progress.",
        )
    other = session.exec(
        select(Copy).where(
            col(Copy.cluster) == place.cluster,
            col(Copy.namespace) == place.namespace,
            (col(Copy.claim_name) == place.name) | (col(Copy.target) == target),
            col(Copy.ended_at).is_(None),
        )
    ).first()
    if other is not None:
        raise ConflictError(
            f"<@{other.person}> is already copying {other.claim_name} to {other.target}.",
            f"Its card in <#{other.channel}> shows the progress.",
        )
    restore = session.exec(
        select(Restore).where(
            col(Restore.cluster) == place.cluster,
            col(Restore.namespace) == place.namespace,
            col(Restore.claim_name) == target,
            col(Restore.ended_at).is_(None),
        )
    ).first()
    if restore is not None:
        raise ConflictError(
            f"PVC {target} is already being created for <@{restore.person}>.",
            "For another PVC: --as NAME.",
        )
