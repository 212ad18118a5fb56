"""The controller of growths: checks again, awaits approval, patches the PVC and waits."""

import hashlib
import json
from datetime import datetime, timedelta
from decimal import Decimal

from sqlmodel import Session
from typing_extensions import override

from bot.approvals import Approval, ApprovalPhase, Request
from bot.approvals.deciding import show_to_deciders
from bot.audit import Actor
from bot.audit import record as record_audit
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PVCS, STORAGE_CLASSES, VOLUMES
from bot.cluster.types.claims import PersistentVolumeClaim
from bot.cluster.types.quantities import format_quantity
from bot.durations import format_duration
from bot.errors import ClusterError, ConflictError, UserError
from bot.people.access import Right
from bot.reconcile.controller import Step
from bot.reconcile.frame import SOON, slower
from bot.slack.markup import code, join, person, plain, sentence
from bot.slack.messages import ThreadMessage, post_once, refresh_cards
from bot.volumes.controller import VolumeController
from bot.volumes.deadline import Deadline
from bot.volumes.growths.plan import GrowthPlan, plan_growth, refuse_growing, refuse_lost, size_of
from bot.volumes.growths.tables import GROWTH, Growth, GrowthPhase
from bot.volumes.matching import Claimed, named_by
from bot.volumes.records import UNBLOCK, ClaimPlace, stale, why
from bot.volumes.wording import capacity

POLICY = "anf_change"
_WITHIN = timedelta(days=1)
_NO_LEAVE = {"Forbidden", "OverQuota"}
_ERRORS = ("ControllerResizeError", "NodeResizeError", "FileSystemResizePending", "Resizing")
_NOTHING = "Nothing was changed."
_UNBEGUN = {
    GrowthPhase.DENIED: "was denied",
    GrowthPhase.EXPIRED: "was not decided in time",
    GrowthPhase.WITHDRAWN: "was withdrawn",
}


class GrowthController(VolumeController[Growth]):
    """Reconciles growths."""

    kind = GROWTH
    table = Growth

    @override
    def reconcile(self, row: Growth, now: datetime) -> Step:
        """Takes the next step of a growth."""
        if row.phase == GrowthPhase.ASKED:
            return self._decided(row, now)
        cluster = self._context.cluster(row.cluster, "its PVCs have grown")
        claim = cluster.get(PVCS, row.claim_name, row.namespace)
        if claim is None or claim.uid != row.claim_uid:
            return _end(row, GrowthPhase.FAILED, f"PVC {row.claim_name} no longer exists.", "", now)
        if row.phase == GrowthPhase.WAITING:
            return _wait(row, claim, now)
        try:
            plan = self._plan(cluster, row, claim)
        except UserError as error:
            return _end(row, GrowthPhase.FAILED, error.message, error.hint, now)
        if row.phase == GrowthPhase.CHECKING:
            return Step(now + SOON, lambda session: self._checked(session, row, plan, now))
        return self._patch(cluster, row, claim, now)

    def _plan(
        self, cluster: Cluster, row: Growth, claim: PersistentVolumeClaim
    ) -> GrowthPlan | None:
        """The plan as things are now; None if the PVC requests the size already."""
        if _wants(claim) >= row.size_bytes:
            return None
        anf = self._files.configured
        named = f"metadata.name={claim.spec.volume_name}"
        pv = next(iter(cluster.list(VOLUMES, fields=named)), None)
        told = named_by(pv) if pv is not None else None
        if pv is None or told is None:
            raise ConflictError(f"PVC {claim.name} is no longer on Azure NetApp Files.")
        of = Claimed(claim, pv, told)
        kind = cluster.view.get(STORAGE_CLASSES, claim.spec.storage_class_name or "")
        refuse_growing(of, kind, row.size_bytes)
        place = ClaimPlace(row.cluster, row.namespace, row.claim_name)
        moved = self._context.database.read(lambda session: stale(session, place))
        if moved is not None:
            raise ConflictError(why(moved, "grown"), UNBLOCK)
        estate = self._files.estate(Deadline(20.0))
        refuse_lost(cluster, estate, of, anf)
        return plan_growth(estate, of, row.size_bytes, anf)

    def _checked(
        self, session: Session, seen: Growth, plan: GrowthPlan | None, now: datetime
    ) -> None:
        row = _same(session, seen)
        if row is None:
            return
        row.phase, row.since, row.trouble = GrowthPhase.PATCHING, now, ""
        if plan is not None:
            row.pool, row.cost = plan.pool, plan.cost
            row.mibps_before, row.mibps_after = plan.mibps_before, plan.mibps_after
            if plan.needs_approval:
                self._ask(session, row, now)
        session.add(row)
        refresh_cards(session, row.subject, live=True)

    def _ask(self, session: Session, row: Growth, now: datetime) -> None:
        """Requests approval, with the requester's current rights; ends a hopeless growth."""
        deciding = self._approvals
        try:
            caller = deciding.access.member(session, row.person, row.channel, row.team)
            deciding.access.require(caller, Right.ANF_CHANGE)
            why_ = f"{row.claim_name} to {capacity(row.size_bytes)}"
            request = Request(GROWTH, row.id, row.lane, POLICY, digest_of(row), caller, why_)
            approval = deciding.approvals.ask(session, request, now)
        except UserError as error:
            finish(session, row, GrowthPhase.FAILED, error.message, error.hint, now)
            return
        row.phase = GrowthPhase.ASKED
        show_to_deciders(session, deciding.approvals, self._context.settings(), approval, now)

    def _decided(self, row: Growth, now: datetime) -> Step:
        """Uses the approval, after reading the approvers again; or ends the growth."""
        approval = self._approvals.decided(GROWTH, row.id)
        if approval is None:
            return Step(None)
        if approval.phase != ApprovalPhase.APPROVED:
            return _refused(row, approval, now)
        return Step(now + SOON, lambda session: self._spend(session, row, now))

    def _spend(self, session: Session, seen: Growth, now: datetime) -> None:
        row, approvals = _same(session, seen), self._approvals.approvals
        approval = approvals.of(session, GROWTH, seen.id)
        if row is None or approval is None:
            return
        if approvals.use(session, approval, digest_of(row), now):
            row.phase, row.since = GrowthPhase.PATCHING, now
            session.add(row)
        refresh_cards(session, row.subject, live=True)

    def _patch(
        self, cluster: Cluster, row: Growth, claim: PersistentVolumeClaim, now: datetime
    ) -> Step:
        """Patches the PVC's requested storage, unless the PVC has changed since the read."""
        if _wants(claim) < row.size_bytes:
            wanted = {"storage": format_quantity(Decimal(row.size_bytes), binary=True)}
            body = {
                "metadata": {"resourceVersion": claim.metadata.resource_version},
                "spec": {"resources": {"requests": wanted}},
            }
            try:
                cluster.patch_merge(PVCS, row.claim_name, body, row.namespace)
            except ClusterError as error:
                if error.reason == "Conflict":
                    return Step(now + SOON)
                if error.is_final or error.reason in _NO_LEAVE:
                    return _end(row, GrowthPhase.FAILED, *_in_words(error), now)
                raise
        return Step(now + SOON, lambda session: _waits(session, row, "", now))


def digest_of(row: Growth) -> str:
    """A digest of what approvers are shown."""
    shown = [row.cluster, row.namespace, row.claim_name, row.claim_uid, row.size_bytes, row.pool]
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()


def _wait(row: Growth, claim: PersistentVolumeClaim, now: datetime) -> Step:
    """Checks whether the PVC has the requested size, and what delays it."""
    if size_of(claim) >= row.size_bytes:
        return _end(row, GrowthPhase.DONE, "", "", now)
    if now - row.since > _WITHIN:
        lasted = format_duration(_WITHIN)
        said = f"It did not grow within {lasted}. {row.obstacle}".strip()
        asks = f"The PVC keeps requesting {capacity(row.size_bytes)}, which cannot be undone."
        return _end(
            row, GrowthPhase.FAILED, said, f"{asks} An admin has to check Trident's log.", now
        )
    told = [each for kind in _ERRORS for each in claim.status.conditions if each.type == kind]
    obstacle = next((f"{each.type}: {each.message}" for each in told if each.message), "")
    return Step(slower(row.since, now), lambda session: _waits(session, row, obstacle, now))


def _waits(session: Session, seen: Growth, obstacle: str, now: datetime) -> None:
    row = _same(session, seen)
    if row is None:
        return
    if row.phase != GrowthPhase.WAITING:
        row.phase, row.since = GrowthPhase.WAITING, now
    row.obstacle, row.trouble = obstacle, ""
    session.add(row)
    refresh_cards(session, row.subject, live=True)


def _refused(row: Growth, approval: Approval, now: datetime) -> Step:
    match approval.phase:
        case ApprovalPhase.DENIED:
            return _end(row, GrowthPhase.DENIED, "", "", now)
        case ApprovalPhase.EXPIRED:
            return _end(row, GrowthPhase.EXPIRED, "", "", now)
        case _:
            return _end(row, GrowthPhase.FAILED, approval.note, "", now)


def _in_words(error: ClusterError) -> tuple[str, str]:
    if error.reason == "OverQuota":
        return (
            f"The namespace's ResourceQuota does not allow it. {error.message}",
            "Ask for less, or ask a platform admin for more storage in that quota.",
        )
    return error.message, error.hint


def _end(row: Growth, phase: GrowthPhase, reason: str, unblock: str, now: datetime) -> Step:
    def save(session: Session) -> None:
        there = _same(session, row)
        if there is not None:
            finish(session, there, phase, reason, unblock, now)

    return Step(None, save)


def finish(
    session: Session, row: Growth, phase: GrowthPhase, reason: str, unblock: str, now: datetime
) -> None:
    """Ends a growth in a phase, with the reason and a hint, and notifies the requester."""
    was_asked_for = row.phase == GrowthPhase.WAITING
    row.phase, row.reason, row.unblock = phase, reason, unblock
    row.since = row.ended_at = now
    row.trouble = row.obstacle = ""
    session.add(row)
    actor = Actor(row.workspace_id, team=row.team)
    facts = {"pvc": row.claim_name, "outcome": row.phase}
    facts |= {"reason": row.reason} if row.reason else {}
    record_audit(session, actor, "anf.grow_ended", (GROWTH, row.id), facts, at=now)
    name, size = code(row.claim_name), capacity(row.size_bytes)
    match row.phase:
        case GrowthPhase.DONE:
            said = join(name, plain(f" has grown to {size}."))
        case GrowthPhase.DENIED | GrowthPhase.EXPIRED | GrowthPhase.WITHDRAWN:
            said = join("The growth of ", name, plain(f" {_UNBEGUN[row.phase]}. {_NOTHING}"))
        case _:
            nothing = "" if was_asked_for else f" {_NOTHING}"
            said = join(name, " did not grow. ", sentence(row.reason), plain(nothing))
    lines = (join(person(row.person), " ", said), *([sentence(row.unblock)] if row.unblock else ()))
    post_once(
        session, row.subject, row.channel, ThreadMessage("ended", lines, owner=row.person), now
    )
    refresh_cards(session, row.subject, live=False)


def _same(session: Session, seen: Growth) -> Growth | None:
    """The row, unless it has changed its phase since it was read."""
    row = session.get(Growth, seen.id)
    return row if row is not None and row.is_live and row.phase == seen.phase else None


def _wants(claim: PersistentVolumeClaim) -> int:
    return int(claim.spec.resources.requests.get("storage") or 0)
