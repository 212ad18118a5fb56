"""Requests repairs of Trident's records of moved volumes; controllers do the rest."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, select

from bot.approvals import Approvals, Request
from bot.approvals.deciding import show_to_deciders
from bot.audit import Actor, record
from bot.cluster.cluster import Cluster
from bot.config import Anf, Settings
from bot.errors import ConflictError, NotAllowedError, NotFoundError
from bot.people.access import Caller
from bot.reconcile.due import wake
from bot.slack.messages import show_card
from bot.volumes.anf import NetAppFiles
from bot.volumes.matching import Claimed
from bot.volumes.repairs import record as recording
from bot.volumes.repairs.decide import Enter
from bot.volumes.repairs.plan import RepairPlan, plan_repair
from bot.volumes.repairs.tables import REPAIR, Repair, RepairPhase

POLICY = "anf_change"


@dataclass(frozen=True)
class Asker:
    """The requester of a repair, the channel of its card, and the namespace of the PVC."""

    workspace_id: str
    person: str
    channel: str
    namespace: str


@dataclass(frozen=True)
class WakeAfterRepair:
    """The row to wake when a repair has ended."""

    kind: str = ""
    id: str = ""
    lane: str = ""


def begin_repair(
    session: Session,
    asker: Asker,
    plan: RepairPlan,
    anf: Anf,
    now: datetime,
    then: WakeAfterRepair | None = None,
) -> Repair:
    """Begins a repair that was approved together with the move that requires it.

    Raises ConflictError if another repair of the volume is in progress. `then` is woken at its end,
    of which the repair's phase and `reason` give the outcome. It requests no approval.
    """
    row = _row(asker, plan, anf, now)
    waiting = then or WakeAfterRepair()
    row.then_kind, row.then_id, row.then_lane = waiting.kind, waiting.id, waiting.lane
    row.phase = RepairPhase.PATCHING
    return _add(session, row, now)


def live_repair(session: Session, cluster: str, volume_name: str) -> Repair | None:
    """The repair of a PV's volume that has not ended, if any."""
    return session.exec(
        select(Repair).where(
            col(Repair.cluster) == cluster,
            col(Repair.volume_name) == volume_name,
            col(Repair.ended_at).is_(None),
        )
    ).first()


def digest_of(row: Repair) -> str:
    """A digest of what approvers are shown."""
    shown = [row.cluster, row.volume_name, row.old_id, row.new_id]
    shown += [row.trident_namespace, row.deployment]
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()


class RepairService:
    """The service that handlers call; only `plan` calls Azure and the cluster."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        approvals: Approvals,
        files: NetAppFiles,
        clusters: Mapping[str, Cluster],
    ) -> None:
        self._settings = settings
        self._approvals = approvals
        self._files = files
        self._clusters = clusters

    def plan(self, team: str, cluster: str, of: Claimed) -> RepairPlan:
        """What the repair would write, from Azure and the cluster; changes nothing."""
        return plan_repair(self._files, self._clusters[cluster], team, of)

    def ask(self, session: Session, caller: Caller, plan: RepairPlan, now: datetime) -> Repair:
        """Requests a repair, which another person approves; raises UserError if impossible."""
        settings = self._settings()
        if settings.anf is None:
            raise ConflictError("Azure NetApp Files is not configured.")
        namespace = settings.teams[plan.team].on(plan.cluster).namespace
        asker = Asker(caller.workspace_id, caller.person, caller.channel, namespace)
        row = _add(session, _row(asker, plan, settings.anf, now), now)
        request = Request(
            subject_kind=REPAIR,
            subject_id=row.id,
            lane=row.lane,
            policy=POLICY,
            digest=digest_of(row),
            requester=caller,
            reason=f"Repair of PVC {row.claim_name}",
        )
        approval = self._approvals.ask(session, request, now)
        show_to_deciders(session, self._approvals, settings, approval, now)
        return row

    def get(self, session: Session, row_id: str) -> Repair:
        """The repair of a button; raises NotFoundError if there is none."""
        row = session.get(Repair, row_id)
        if row is None:
            raise NotFoundError("This repair no longer exists.")
        return row

    def withdraw(self, session: Session, caller: Caller, row: Repair, now: datetime) -> None:
        """Withdraws a repair that waits for approval; raises UserError if impossible."""
        if caller.team != row.team:
            raise NotAllowedError(
                f"This repair is for a PVC of {row.team}.", "Ask a member of that team."
            )
        if not row.is_waiting:
            stands = "started" if row.is_live else "ended"
            raise ConflictError(
                f"The repair of {row.claim_name} has already {stands}.",
                "Your click changed nothing.",
            )
        self._approvals.void_for(session, (REPAIR, row.id), "it was withdrawn", now)
        row.withdrawn_by = caller.person
        actor = Actor(caller.workspace_id, caller.person, caller.channel, row.team)
        facts = {"pvc": row.claim_name}
        record(session, actor, "anf.withdraw", (REPAIR, row.id), facts, at=now)
        recording.record(session, row, Enter(RepairPhase.WITHDRAWN), now)


def _row(asker: Asker, plan: RepairPlan, anf: Anf, now: datetime) -> Repair:
    return Repair(
        workspace_id=asker.workspace_id,
        team=plan.team,
        person=asker.person,
        channel=asker.channel,
        cluster=plan.cluster,
        namespace=asker.namespace,
        claim_name=plan.claim,
        volume_name=plan.volume_name,
        old_id=plan.old_id,
        new_id=plan.new_id,
        trident_namespace=anf.trident_namespace,
        deployment=anf.trident_deployment,
        asked_at=now,
        since=now,
    )


def _add(session: Session, row: Repair, now: datetime) -> Repair:
    other = live_repair(session, row.cluster, row.volume_name)
    if other is not None:
        raise ConflictError(
            f"<@{other.person}> already requested the repair of {other.claim_name}.",
            f"Its card in <#{other.channel}> shows the progress.",
        )
    session.add(row)
    session.flush()
    facts = {"pvc": row.claim_name, "volume": row.volume_name, "from": row.old_id, "to": row.new_id}
    actor = Actor(row.workspace_id, row.person, row.channel, row.team)
    record(session, actor, "anf.repair", (REPAIR, row.id), facts, at=now)
    show_card(session, row.subject, row.channel, now, live=True, owner=row.person)
    wake(session, REPAIR, row.id, row.lane, now)
    return row
