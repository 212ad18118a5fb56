"""Requests resizes of PVCs. Only checks and writes rows; the controller does the rest."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from sqlmodel import Session, col, select

from bot.approvals import Approvals, Request
from bot.approvals.deciding import show_to_deciders
from bot.audit import Actor, record
from bot.cluster.cluster import Cluster
from bot.cluster.resources import STORAGE_CLASSES
from bot.config import Settings
from bot.errors import ConflictError, NotAllowedError, NotFoundError
from bot.people.access import Caller
from bot.reconcile.due import wake
from bot.slack.messages import show_card
from bot.snapshots import finding
from bot.snapshots.claims.found import ClaimSummary
from bot.snapshots.resizes.plan import ResizePlan, ResizeRequest, hindrance
from bot.snapshots.resizes.record import finish
from bot.snapshots.resizes.tables import RESIZE, Resize, ResizePhase
from bot.volumes.matching import named_by
from bot.volumes.records import ClaimPlace, refuse_stale
from bot.volumes.wording import capacity

POLICY = "pvc_change"


class ResizeService:
    """The service that handlers call; each method writes in the caller's transaction.

    The right of a `Caller` to use the verb was checked before.
    """

    def __init__(
        self,
        settings: Callable[[], Settings],
        approvals: Approvals,
        clusters: Mapping[str, Cluster],
    ) -> None:
        self._settings = settings
        self._approvals = approvals
        self._clusters = clusters

    def plan(self, session: Session, asked: ResizeRequest, found: ClaimSummary) -> ResizePlan:
        """What the resize would do, as the watches show the PVC; UserError if impossible."""
        claim = found.claim
        self._refuse_other_ways(asked, found)
        place = ClaimPlace(found.cluster, claim.namespace, claim.name)
        refuse_stale(session, place, "grown")
        _refuse_busy(session, place)
        kind = self._clusters[found.cluster].view.get(
            STORAGE_CLASSES, claim.spec.storage_class_name or ""
        )
        problem = hindrance(claim, kind, asked.size_bytes)
        if problem is not None:
            raise ConflictError(problem.reason, problem.unblock)
        before = self._price(found, claim.size_bytes)
        after = self._price(found, asked.size_bytes)
        cost = None if before is None or after is None else after - before
        most = self._settings().pvcs.approve_above
        costs = most is not None and (cost is None or cost > most)
        return ResizePlan(claim, claim.size_bytes or 0, before, cost, needs_approval=costs)

    def begin(
        self,
        session: Session,
        caller: Caller,
        asked: ResizeRequest,
        found: ClaimSummary,
        now: datetime,
    ) -> Resize:
        """Begins a resize, which its controller checks again and applies."""
        plan = self.plan(session, asked, found)
        row = Resize(
            workspace_id=caller.workspace_id,
            team=asked.team,
            person=caller.person,
            channel=caller.channel,
            cluster=found.cluster,
            namespace=plan.claim.namespace,
            claim_name=plan.claim.name,
            claim_uid=plan.claim.uid,
            storage_class=plan.claim.spec.storage_class_name or "",
            size_bytes=asked.size_bytes,
            from_bytes=plan.from_bytes,
            cost=plan.cost,
            asked_at=now,
            since=now,
        )
        session.add(row)
        session.flush()
        facts = {"pvc": row.claim_name, "from": str(row.from_bytes), "to": str(row.size_bytes)}
        actor = Actor(row.workspace_id, row.person, row.channel, row.team)
        record(session, actor, "pvc.resize", (RESIZE, row.id), facts, at=now)
        show_card(session, row.subject, row.channel, now, live=True, owner=row.person)
        if plan.needs_approval:
            self._ask(session, caller, row, now)
        wake(session, RESIZE, row.id, row.lane, now)
        return row

    def get(self, session: Session, row_id: str) -> Resize:
        """The resize of a button; raises NotFoundError if there is none."""
        row = session.get(Resize, row_id)
        if row is None:
            raise NotFoundError("This resize no longer exists.")
        return row

    def withdraw(self, session: Session, caller: Caller, row: Resize, now: datetime) -> None:
        """Withdraws a resize that is not approved yet; raises UserError if impossible."""
        if caller.team != row.team:
            raise NotAllowedError(
                f"This resize is for a PVC of {row.team}.", "Ask a member of that team."
            )
        if row.phase != ResizePhase.ASKED:
            stands = "started" if row.is_live else "ended"
            raise ConflictError(
                f"The resize of {row.claim_name} has already {stands}.",
                "Your click changed nothing.",
            )
        self._approvals.void_for(session, (RESIZE, row.id), "it was withdrawn", now)
        row.withdrawn_by = caller.person
        actor = Actor(caller.workspace_id, caller.person, caller.channel, row.team)
        facts = {"pvc": row.claim_name}
        record(session, actor, "pvc.withdraw", (RESIZE, row.id), facts, at=now)
        finish(session, row, ResizePhase.WITHDRAWN, now)

    def undecided(self, session: Session) -> Sequence[Resize]:
        """The resizes that wait for a decision, the oldest first."""
        asked = select(Resize).where(col(Resize.phase) == ResizePhase.ASKED)
        return session.exec(asked.order_by(col(Resize.id))).all()

    def _ask(self, session: Session, caller: Caller, row: Resize, now: datetime) -> None:
        row.phase = ResizePhase.ASKED
        session.add(row)
        why = f"{row.claim_name} to {capacity(row.size_bytes)}"
        request = Request(RESIZE, row.id, row.lane, POLICY, row.digest, caller, why)
        approval = self._approvals.ask(session, request, now)
        show_to_deciders(session, self._approvals, self._settings(), approval, now)

    def _refuse_other_ways(self, asked: ResizeRequest, found: ClaimSummary) -> None:
        """Azure NetApp Files has a command of its own, which checks the capacity pool too."""
        named = named_by(found.volume) if found.volume is not None else None
        if named is None or not named.id or self._settings().anf is None:
            return
        raise ConflictError(
            f"PVC {asked.claim} is on Azure NetApp Files, whose capacity pool limits its size.",
            f"Use `/anf grow {asked.claim} SIZE`, for example `/anf grow {asked.claim} 2Ti`.",
        )

    def _price(self, found: ClaimSummary, size_bytes: int | None) -> float | None:
        datasets = self._settings().datasets
        name = found.claim.spec.storage_class_name or ""
        kind = datasets.at(found.cluster).classes.get(name) if datasets else None
        return kind.monthly_price(size_bytes) if kind else None


def _refuse_busy(session: Session, place: ClaimPlace) -> None:
    """Raises ConflictError while another change of the same PVC is in progress."""
    revert = finding.reverting(session, *place)
    if revert is not None:
        raise ConflictError(
            f"PVC {place.name} is being reverted to snapshot {revert.snapshot}.",
            f"Its card in <#{revert.channel}> shows the progress.",
        )
    other = session.exec(
        select(Resize).where(
            col(Resize.cluster) == place.cluster,
            col(Resize.namespace) == place.namespace,
            col(Resize.claim_name) == place.name,
            col(Resize.ended_at).is_(None),
        )
    ).first()
    if other is not None:
        raise ConflictError(
            f"<@{other.person}> already requested to resize {place.name} to"
            f" {capacity(other.size_bytes)}.",
            f"Its card in <#{other.channel}> shows the progress.",
        )
