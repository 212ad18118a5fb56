"""The controller of repairs: awaits approval, writes the record, restarts Trident, checks."""

from datetime import datetime, timedelta

from sqlmodel import Session
from typing_extensions import override

from bot.approvals import Approval, ApprovalPhase
from bot.cluster.cluster import Cluster
from bot.cluster.resources import DEPLOYMENTS, TRIDENT_VOLUMES, VOLUMES
from bot.errors import ClusterError
from bot.reconcile.controller import Step
from bot.reconcile.frame import SOON
from bot.slack.messages import refresh_cards
from bot.volumes.controller import VolumeController
from bot.volumes.matching import named_by
from bot.volumes.repairs import record as recording
from bot.volumes.repairs.decide import (
    NOTHING,
    RESTARTED_AT,
    CheckAgain,
    Decision,
    Enter,
    Fail,
    RepairObserved,
    Restart,
    WriteRecord,
    decide,
    stands_of,
)
from bot.volumes.repairs.service import digest_of
from bot.volumes.repairs.tables import REPAIR, Repair, RepairPhase
from bot.volumes.resources import same_id, volume_place

_ROLLOUT = timedelta(seconds=5)
_NO_LEAVE = {"Forbidden", "NotServed"}


class RepairController(VolumeController[Repair]):
    """Reconciles repairs."""

    kind = REPAIR
    table = Repair

    @override
    def reconcile(self, row: Repair, now: datetime) -> Step:
        """Takes the next step of a repair."""
        if row.phase == RepairPhase.ASKED:
            return self._decided(row, now)
        cluster = self._context.cluster(row.cluster, "its repairs have ended")
        move = self._act(cluster, row, decide(row, self._look(cluster, row), now))
        again = now + (_ROLLOUT if isinstance(move, CheckAgain) else SOON)
        return Step(again, lambda session: recording.record(session, row, move, now))

    def _decided(self, row: Repair, now: datetime) -> Step:
        """Uses the approval after reading the approvers again, or ends the repair."""
        if self._approvals.request(REPAIR, row.id) is None:
            fail = Fail("Its approval request no longer exists.", NOTHING)
            return Step(None, lambda session: recording.record(session, row, fail, now))
        approval = self._approvals.decided(REPAIR, row.id)
        if approval is None:
            return Step(None)
        if approval.phase == ApprovalPhase.APPROVED:
            return Step(now + SOON, lambda session: self._spend(session, row, now))
        return Step(None, lambda session: self._refuse(session, row, approval, now))

    def _spend(self, session: Session, row: Repair, now: datetime) -> None:
        approval = self._approvals.approvals.of(session, REPAIR, row.id)
        if approval is None:
            return
        if self._approvals.approvals.use(session, approval, digest_of(row), now):
            recording.record(session, row, Enter(RepairPhase.PATCHING), now)
        else:
            refresh_cards(session, row.subject, live=False)

    def _refuse(self, session: Session, row: Repair, approval: Approval, now: datetime) -> None:
        match approval.phase:
            case ApprovalPhase.DENIED:
                recording.record(session, row, Enter(RepairPhase.DENIED), now)
            case ApprovalPhase.EXPIRED:
                recording.record(session, row, Enter(RepairPhase.EXPIRED), now)
            case _:
                recording.record(session, row, Fail(approval.note, NOTHING), now)

    def _look(self, cluster: Cluster, row: Repair) -> RepairObserved:
        """Reads the state live; Azure is read before the record is written and at the end."""
        if row.phase in {RepairPhase.RESTARTING, RepairPhase.ROLLING}:
            found = cluster.get(DEPLOYMENTS, row.deployment, row.trident_namespace)
            return RepairObserved(deployment=found)
        record = cluster.get(TRIDENT_VOLUMES, row.volume_name, row.trident_namespace)
        return RepairObserved(record=record, astray=self._astray(cluster, row))

    def _astray(self, cluster: Cluster, row: Repair) -> str:
        """What has changed since the approval, as a sentence; empty if nothing has."""
        anf = self._context.settings().anf
        place = volume_place(row.new_id)
        if anf is None or place is None or place.subscription not in anf.subscriptions:
            return "Azure NetApp Files is no longer configured for that subscription."
        named = f"metadata.name={row.volume_name}"
        pv = next(iter(cluster.list(VOLUMES, fields=named)), None)
        told = named_by(pv) if pv is not None else None
        owner = pv.spec.claim_ref if pv is not None else None
        if told is None or owner is None or owner.name != row.claim_name:
            return f"PV {row.volume_name} is no longer the one of PVC {row.claim_name}."
        found = self._files.volume(place)
        if found is None or not same_id(found.id, row.new_id) or told.path not in {"", found.path}:
            return "The volume is now somewhere else in Azure."
        return ""

    def _act(self, cluster: Cluster, row: Repair, move: Decision) -> Decision:
        """Carries a decision out; returns the decision to record."""
        try:
            match move:
                case WriteRecord(version):
                    _write(cluster, row, version)
                    return Enter(RepairPhase.RESTARTING)
                case Restart():
                    _restart(cluster, row)
                    return Enter(RepairPhase.ROLLING)
                case _:
                    return move
        except ClusterError as error:
            if error.reason == "Conflict":
                return CheckAgain()
            if error.is_final or error.reason in _NO_LEAVE:
                return Fail(error.message, stands_of(row), error.hint)
            raise


def _write(cluster: Cluster, row: Repair, version: str) -> None:
    """Patches the record; the API server refuses it if the record has changed since the read."""
    body = {"metadata": {"resourceVersion": version}, "config": {"internalID": row.new_id}}
    cluster.patch_merge(TRIDENT_VOLUMES, row.volume_name, body, row.trident_namespace)


def _restart(cluster: Cluster, row: Repair) -> None:
    """Restarts as `kubectl rollout restart` does; repeated with the same time it has no effect."""
    moment = row.restart_at.isoformat() if row.restart_at is not None else ""
    body = {"spec": {"template": {"metadata": {"annotations": {RESTARTED_AT: moment}}}}}
    cluster.patch_merge(DEPLOYMENTS, row.deployment, body, row.trident_namespace)
