"""Begins changes: checks Azure again, writes the plan and requests approval."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, func, select

from bot.approvals import ApprovalPhase, Approvals, Request
from bot.approvals.deciding import show_to_deciders
from bot.cluster.cluster import Cluster
from bot.cluster.resources import VOLUMES
from bot.cluster.types.claims import PersistentVolume
from bot.config import Anf, Settings
from bot.errors import ClusterError, ConflictError, UserError
from bot.people.access import Access, Caller, Right
from bot.reconcile.due import wake
from bot.volumes.changes import notices
from bot.volumes.changes import record as recording
from bot.volumes.changes.boost import boosted
from bot.volumes.changes.plan import ChangePlan, ChangeRequest, VolumeState, make_plan
from bot.volumes.changes.tables import CHANGE, LANE, ChangePhase, VolumeChange
from bot.volumes.matching import match, named_by
from bot.volumes.moves import Record
from bot.volumes.resources import Estate
from bot.volumes.wording import capacity

POLICY = "anf_change"


@dataclass(frozen=True)
class ChangeObserved:
    """The PV, the pools and volumes in Azure, and Trident's record if it created the volume."""

    volume: PersistentVolume | None
    estate: Estate
    record: Record | None


class Beginning:
    """Takes changes from the request to the first act, with the approvals that they need."""

    def __init__(
        self, settings: Callable[[], Settings], access: Access, approvals: Approvals
    ) -> None:
        self._settings = settings
        self._access = access
        self._approvals = approvals

    def volume_of(
        self, row: VolumeChange, clusters: Mapping[str, Cluster]
    ) -> PersistentVolume | None:
        """The PV of a change, None if it is gone; raises ClusterError until PVs have been read."""
        cluster = clusters.get(row.cluster)
        if cluster is None or not cluster.view.store(VOLUMES).synced:
            raise ClusterError(f"Cluster {row.cluster} has not been read yet.", "Retrying.")
        return cluster.view.get(VOLUMES, row.pv_name)

    def record(
        self,
        session: Session,
        row_id: str,
        seen: ChangeObserved,
        now: datetime,
    ) -> None:
        """Records the plan and requests approval, or rejects the change."""
        row = session.get(VolumeChange, row_id)
        if row is None or row.phase != ChangePhase.CHECKING:
            return
        try:
            caller = self._caller(session, row)
            plan = self._plan(session, row, seen, now)
            _write(row, plan)
            if row.needs_approval:
                self._ask(session, row, caller, now)
            else:
                row.phase = ChangePhase.APPROVED
        except UserError as error:
            row.hint = error.hint
            recording.not_begun(session, row_id, ChangePhase.REFUSED, error.message, now)
            return
        row.since = now
        session.add(row)
        notices.refresh(session, row, live=True)

    def give_up(self, session: Session, row_id: str, now: datetime) -> None:
        """Ends a boost that has not started when its fill has ended."""
        self._approvals.void_for(session, (CHANGE, row_id), "what it was for has ended", now)
        why = "The fill ended before the boost started."
        recording.not_begun(session, row_id, ChangePhase.WITHDRAWN, why, now)

    def spend(self, session: Session, row_id: str, now: datetime) -> None:
        """Uses the approval; if it no longer holds, approval is requested again."""
        row = session.get(VolumeChange, row_id)
        approval = self._approvals.of(session, CHANGE, row_id)
        if row is None or approval is None or row.phase != ChangePhase.ASKED:
            return
        if self._approvals.use(session, approval, digest_of(row), now):
            row.phase, row.since = ChangePhase.APPROVED, now
            session.add(row)
            deciders = [vote.person for vote in self._approvals.votes(session, approval)]
            notices.approved(session, row, deciders, now)
            wake(session, CHANGE, row.id, LANE, now)
        notices.refresh(session, row, live=row.phase != ChangePhase.ASKED)

    def set_out(self, session: Session, row_id: str, settings: Settings, now: datetime) -> None:
        """Begins or reverts a change; if its approval no longer holds, it waits for a new one."""
        row = session.get(VolumeChange, row_id)
        approval = self._approvals.of(session, CHANGE, row_id)
        if (
            row is not None
            and row.phase == ChangePhase.APPROVED
            and approval is not None
            and not self._approvals.stands(session, approval)
        ):
            # Nothing was done with the approval yet, so it is not used up.
            approval.phase = ApprovalPhase.APPROVED
            self._approvals.use(session, approval, digest_of(row), now)
            row.phase, row.since, row.trouble = ChangePhase.ASKED, now, ""
            session.add(row)
            notices.refresh(session, row, live=False)
        else:
            recording.set_out(session, row_id, settings, now)

    def _caller(self, session: Session, row: VolumeChange) -> Caller:
        """The requester, with their current rights."""
        caller = self._access.member(session, row.person, row.channel, row.team)
        self._access.require(caller, Right.ANF_CHANGE)
        return caller

    def _plan(
        self,
        session: Session,
        row: VolumeChange,
        seen: ChangeObserved,
        now: datetime,
    ) -> ChangePlan:
        pv, estate = seen.volume, seen.estate
        anf, named = self._settings().anf, named_by(pv) if pv is not None else None
        found = match(named, estate.volumes) if named is not None else None
        if anf is None or named is None or found is None:
            raise ConflictError(
                f"The volume of PVC {row.claim_name} no longer exists.",
                "Check `/anf volumes`.",
            )
        other = _other_of(session, row, found.volume.file_system)
        if other is not None:
            raise under_way(other)
        raised = went_up_at(session, found.volume.file_system)
        state = VolumeState(estate, named, found, raised, now, seen.record)
        plan = _planned(row, state, anf)
        if plan.growth_bytes > row.shown_growth_bytes:
            raise ConflictError(
                f"Pool {plan.target.name} would now have to grow by {capacity(plan.growth_bytes)},"
                f" more than the {capacity(row.shown_growth_bytes)} that you were shown.",
                "Request it again, to be shown the current figures.",
            )
        return plan

    def _ask(self, session: Session, row: VolumeChange, caller: Caller, now: datetime) -> None:
        row.phase = ChangePhase.ASKED
        session.add(row)
        session.flush()
        request = Request(
            subject_kind=CHANGE,
            subject_id=row.id,
            lane=LANE,
            policy=POLICY,
            digest=digest_of(row),
            requester=caller,
            reason=row.reason,
        )
        approval = self._approvals.ask(session, request, now)
        show_to_deciders(session, self._approvals, self._settings(), approval, now)


def _planned(row: VolumeChange, state: VolumeState, anf: Anf) -> ChangePlan:
    """The plan of a change; that of a boost also determines what is set."""
    if not row.boosted_id:
        return make_plan(state, wish_of(row), anf)
    request, plan = boosted(state, anf)
    row.kind, row.wanted_level, row.wanted_mibps = request.kind, request.level, request.mibps
    return plan


def digest_of(row: VolumeChange) -> str:
    """A digest of what approvers are shown."""
    shown = [row.file_system, row.kind, row.source_pool, row.target_pool, row.wanted_mibps]
    shown += [row.grow_to, row.grow_by, row.shrink_to, row.duration_seconds, row.reason]
    shown += [row.is_trident, *([row.boosted_name] if row.boosted_id else [])]
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()


def wish_of(row: VolumeChange) -> ChangeRequest:
    """The request of a change."""
    return ChangeRequest(
        row.kind, row.wanted_level, row.wanted_pool, row.wanted_mibps, row.is_shrinking
    )


def went_up_at(session: Session, file_system: str) -> datetime | None:
    """When the bot last moved a volume to a higher level; None if never."""
    statement = select(func.max(VolumeChange.went_up_at)).where(
        col(VolumeChange.file_system) == file_system
    )
    return session.scalar(statement) if file_system else None


def under_way(other: VolumeChange) -> ConflictError:
    """The error that another change of the volume is in progress."""
    if other.boosted_id:
        return ConflictError(
            f"<@{other.person}> requested a boost of this volume: {notices.change_of(other)}. It is"
            " reverted when that fill has ended.",
            f"Request it again then. The card in <#{other.channel}> can end the boost earlier.",
        )
    return ConflictError(
        f"<@{other.person}> requested another change of this volume:"
        f" {notices.change_of(other)}. It has not ended.",
        f"Withdraw or revert it first, on its card in <#{other.channel}>.",
    )


def live_of(session: Session, cluster: str, pv_name: str) -> VolumeChange | None:
    """The change of a PV's volume that has not ended, if any."""
    return session.scalars(
        select(VolumeChange).where(
            col(VolumeChange.cluster) == cluster,
            col(VolumeChange.pv_name) == pv_name,
            col(VolumeChange.ended_at).is_(None),
        )
    ).first()


def _other_of(session: Session, row: VolumeChange, file_system: str) -> VolumeChange | None:
    return session.scalars(
        select(VolumeChange).where(
            col(VolumeChange.file_system) == file_system,
            col(VolumeChange.file_system) != "",
            col(VolumeChange.ended_at).is_(None),
            col(VolumeChange.id) != row.id,
        )
    ).first()


def _write(row: VolumeChange, plan: ChangePlan) -> None:
    volume, source, target = plan.volume, plan.source, plan.target
    _, row.resource_group, row.account, _, row.volume_name = volume.place
    row.file_system, row.size_bytes = volume.file_system, volume.quota_bytes
    row.source_pool, row.source_level, row.source_qos = source.name, source.level, source.qos
    row.target_pool, row.target_level = target.name, target.level
    row.source_pool_id, row.target_pool_id = source.id, target.id
    row.mibps_before, row.mibps_after = volume.throughput_mibps, plan.mibps_after
    row.grow_to, row.grow_by, row.shrink_to = plan.grow_to, plan.growth_bytes, plan.shrink_to
    row.cost_delta, row.needs_approval = plan.cost_delta, plan.needs_approval
    row.is_trident = plan.is_trident
