"""States of the cards of changes, growths and repairs of volumes on Azure NetApp Files."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from bot.approvals.tables import Approval, ApprovalPhase, Verdict
from bot.slack.messages import Renderer
from bot.volumes.changes.tables import ChangeKind, ChangePhase, Direction, VolumeChange
from bot.volumes.growths.tables import Growth, GrowthPhase
from bot.volumes.parts import VolumesArea
from bot.volumes.provisioning.tables import POOL_REQUEST
from bot.volumes.repairs.tables import Repair, RepairPhase
from playground.arm.estate import FURTHER
from tests.handlers.command_client import ALICE, APPROVALS, CAROL, CommandClient
from tests.states.pools import request
from tests.states.quotas import approval, vote
from tests.states.state import DAY, HOUR, MINUTE, NOW, SILENT, State, card, usual

GIB, TIB = 2**30, 2**40
POOL = "/subscriptions/1/resourceGroups/ml/providers/Microsoft.NetApp/netAppAccounts/ml"
WAS, IS = (f"{POOL}/capacityPools/{each}/volumes/lane-data" for each in ("premium", "ultra"))


def change(**more: Any) -> VolumeChange:
    """Alice's change of lane-data to Ultra for four hours."""
    fields = usual(
        claim_name="lane-data", pv_name="pvc-0c12", kind=ChangeKind.LEVEL, wanted_level="Ultra",
        duration_seconds=14_400, reason="CVPR deadline", asked_at=NOW - HOUR, since=NOW - MINUTE,
        volume_name="lane-data", size_bytes=TIB, source_pool="premium", source_level="Premium",
        source_qos="Auto", target_pool="ultra", target_level="Ultra", mibps_before=64.0,
        mibps_after=128.0, cost_delta=412.0, needs_approval=True,
        source_pool_id=f"{POOL}/capacityPools/premium",
        target_pool_id=f"{POOL}/capacityPools/ultra",
    )  # fmt: skip
    return VolumeChange(**(fields | more))


def growth(**more: Any) -> Growth:
    """Alice's growth of lane-data."""
    fields = usual(
        claim_name="lane-data", claim_uid="uid", size_bytes=2 * TIB, from_bytes=TIB,
        asked_at=NOW - HOUR, since=NOW - MINUTE, pool="premium", mibps_before=64.0,
        mibps_after=128.0, cost=301.0,
    )  # fmt: skip
    return Growth(**(fields | more))


def repair(**more: Any) -> Repair:
    """The repair of Trident's record of a moved volume."""
    fields = usual(
        claim_name="lane-data", volume_name="pvc-0c12", old_id=WAS, new_id=IS,
        trident_namespace="trident", deployment="trident-controller", asked_at=NOW - HOUR,
        since=NOW - MINUTE,
    )  # fmt: skip
    return Repair(**(fields | more))


def asked(kind: str, phase: ApprovalPhase = ApprovalPhase.ASKED) -> Approval:
    """The request for approval of one of them."""
    return approval(kind, "anf_change", phase)


def states() -> Iterator[State]:
    """All of them."""
    yield from _changes()
    yield from _working()
    yield from _changed()
    yield from _growths()
    yield from _repairs()
    yield from _in_two_subscriptions()


def _in_two_subscriptions() -> Iterator[State]:
    """The same with a second subscription, which people then see."""
    pending = change(phase=ChangePhase.ASKED)
    yield card(
        "anf-change-pending-of-two-subscriptions", pending, asked("volume_change"),
        channel=APPROVALS, renderers=with_two,
    )  # fmt: skip
    wanted = request(subscription=FURTHER)
    yield card(
        "anf-pool-pending-of-two-subscriptions", wanted,
        approval(POOL_REQUEST, "anf_pool", ApprovalPhase.ASKED), channel=APPROVALS,
        renderers=with_two,
    )  # fmt: skip


def with_two(client: CommandClient) -> Mapping[str, Renderer]:
    """The renderers of a bot that has two subscriptions."""
    area = client.application.services.volumes
    told = area.on.settings()
    assert told.anf is not None
    wide = told.anf.model_copy(update={"other_subscriptions": {FURTHER: ("ml-lab/anf-ml",)}})
    settings = told.model_copy(update={"anf": wide})
    renderers = VolumesArea(replace(area.on, settings=lambda: settings)).renderers()
    return {each.kind: each for each in renderers}


def _changes() -> Iterator[State]:
    kind = "volume_change"
    unread = {"source_pool": "", "target_pool": "", "needs_approval": False, "cost_delta": 0.0}
    yield card("anf-change-checking", change(**unread))
    silent = "Azure did not answer within 30 s."
    yield card("anf-change-checking-late", change(**unread, trouble=silent))
    pending = change(phase=ChangePhase.ASKED, grow_to=4 * TIB, grow_by=TIB)
    yield card("anf-change-pending", pending, asked(kind), channel=APPROVALS)
    trident = {"is_trident": True, "shrink_to": 3 * TIB}
    yield card(
        "anf-change-pending-in-its-channel", change(phase=ChangePhase.ASKED, **trident), asked(kind)
    )
    used = (asked(kind, ApprovalPhase.USED), vote())
    yield card("anf-change-approved", change(phase=ChangePhase.APPROVED), *used)
    no = (asked(kind, ApprovalPhase.DENIED), vote(Verdict.DENY))
    yield card("anf-change-denied", change(phase=ChangePhase.DENIED, ended_at=NOW), *no)
    late = approval(kind, "anf_change", ApprovalPhase.EXPIRED, expires_at=NOW)
    yield card("anf-change-expired", change(phase=ChangePhase.EXPIRED, ended_at=NOW), late)
    left = change(phase=ChangePhase.WITHDRAWN, ended_at=NOW, returned_by=ALICE)
    yield card("anf-change-withdrawn", left, asked(kind, ApprovalPhase.VOIDED))


def _working() -> Iterator[State]:
    used = (asked("volume_change", ApprovalPhase.USED), vote())
    going = {"phase": ChangePhase.WORKING, "is_begun": True}
    grows = {"grow_to": 4 * TIB, "grow_by": TIB}
    yield card("anf-change-growing-pool", change(**going, **grows), *used)
    yield card("anf-change-moving", change(**going), *used)
    mibps = {"kind": ChangeKind.THROUGHPUT, "wanted_mibps": 96.0, "mibps_after": 96.0,
             "target_pool": "premium", "target_level": "Premium", "cost_delta": 0.0}  # fmt: skip
    yield card("anf-change-throughput", change(**going, **mibps), *used)
    late = {"is_late": True, "since": NOW - 40 * MINUTE}
    yield card("anf-change-moving-late", change(**going, **late), *used)
    busy = {"trouble": "Azure throttles requests.", "not_before": NOW + 5 * MINUTE}
    yield card("anf-change-moving-retrying", change(**going, **busy), *used)
    yield card("anf-change-reverting", change(**going, direction=Direction.BACK), *used)
    yield card("anf-change-undoing", change(**going, direction=Direction.UNDO, **grows), *used)


def _changed() -> Iterator[State]:
    used = (asked("volume_change", ApprovalPhase.USED), vote())
    held = {"phase": ChangePhase.HELD, "mibps_seen": 128.0, "ends_at": NOW + 3 * HOUR,
            "went_up_at": NOW - HOUR}  # fmt: skip
    yield card("anf-change-active", change(**held), *used)
    kept = held | {"ends_at": NOW, "kept_for": "run lane ends", "kept_until": NOW + DAY}
    yield card("anf-change-kept-for-a-run", change(**kept), *used)
    wait = {"not_before": NOW + 23 * HOUR}
    yield card("anf-change-waits-for-azure", change(**held, **wait), *used)
    boost = {"boosted_kind": "dataset-cache", "boosted_id": "cache",
             "boosted_name": "chest-xray@v3", "duration_seconds": None}  # fmt: skip
    yield card("anf-change-boost", change(**(held | boost | {"ends_at": None})), *used)
    over = {"mibps_seen": 128.0, "ended_at": NOW}
    yield card("anf-change-done", change(phase=ChangePhase.DONE, duration_seconds=None, **over))
    yield card(
        "anf-change-reverted",
        change(phase=ChangePhase.RETURNED, **over, returned_by=CAROL),
        *used,
    )
    rest = "Pool ultra was not shrunk: Azure refused it. It is 1 TiB larger than before."
    yield card(
        "anf-change-reverted-with-a-rest",
        change(phase=ChangePhase.RETURNED, ended_at=NOW, remains=rest),
        *used,
    )
    refused = {
        "outcome": "Pool ultra has 512 GiB free, and lane-data needs 1 TiB.",
        "hint": "A lead can let it grow: --grow-pool.",
    }
    yield card("anf-change-refused", change(phase=ChangePhase.REFUSED, ended_at=NOW, **refused))
    failed = {
        "outcome": "Azure accepted the request, but nothing changed.",
        "hint": "Check the volume in Azure, then request it again.",
    }
    yield card("anf-change-failed", change(phase=ChangePhase.FAILED, ended_at=NOW, **failed), *used)


def _growths() -> Iterator[State]:
    kind = "anf-growth"
    used = (asked(kind, ApprovalPhase.USED), vote())
    yield card("growth-checking", growth(pool=""))
    yield card("growth-pending", growth(phase=GrowthPhase.ASKED), asked(kind), channel=APPROVALS)
    yield card("growth-pending-in-its-channel", growth(phase=GrowthPhase.ASKED), asked(kind))
    yield card("growth-approved", growth(phase=GrowthPhase.PATCHING), *used)
    yield card("growth-running", growth(phase=GrowthPhase.WAITING), *used)
    slow = {"obstacle": "resize volume failed: pool is full.", "trouble": ""}
    yield card("growth-blocked", growth(phase=GrowthPhase.WAITING, **slow), *used)
    silent = growth(phase=GrowthPhase.WAITING, trouble=SILENT)
    yield card("growth-retrying", silent, *used)
    yield card("growth-done", growth(phase=GrowthPhase.DONE, ended_at=NOW), *used)
    why = {
        "reason": "It did not grow within 30m. Resize volume failed: pool is full.",
        "unblock": "The PVC keeps requesting 2 TiB, which cannot be undone. Ask a storage admin.",
    }
    yield card("growth-failed", growth(phase=GrowthPhase.FAILED, ended_at=NOW, **why), *used)
    no = (asked(kind, ApprovalPhase.DENIED), vote(Verdict.DENY))
    yield card("growth-denied", growth(phase=GrowthPhase.DENIED, ended_at=NOW), *no)
    late = approval(kind, "anf_change", ApprovalPhase.EXPIRED, expires_at=NOW)
    yield card("growth-expired", growth(phase=GrowthPhase.EXPIRED, ended_at=NOW), late)
    gone = growth(phase=GrowthPhase.WITHDRAWN, ended_at=NOW, withdrawn_by=ALICE)
    yield card("growth-withdrawn", gone, asked(kind, ApprovalPhase.VOIDED))


def _repairs() -> Iterator[State]:
    kind = "anf-repair"
    used = (asked(kind, ApprovalPhase.USED), vote())
    yield card("repair-pending", repair(), asked(kind), channel=APPROVALS)
    yield card("repair-pending-in-its-channel", repair(), asked(kind))
    yield card("repair-writing", repair(phase=RepairPhase.PATCHING), *used)
    at = {"restart_at": NOW - MINUTE}
    yield card("repair-restarting", repair(phase=RepairPhase.RESTARTING, **at), *used)
    yield card("repair-waiting", repair(phase=RepairPhase.ROLLING, **at), *used)
    yield card("repair-late", repair(phase=RepairPhase.ROLLING, trouble=SILENT, **at), *used)
    yield card("repair-checking", repair(phase=RepairPhase.CHECKING, **at), *used)
    yield card("repair-done", repair(phase=RepairPhase.DONE, ended_at=NOW, **at), *used)
    why = {
        "reason": "Trident's controller did not start within 10m.",
        "stands": "Trident's record has the new id.",
        "unblock": "A platform admin has to look at Deployment trident/trident-controller.",
    }
    yield card("repair-failed", repair(phase=RepairPhase.FAILED, ended_at=NOW, **at, **why), *used)
    no = (asked(kind, ApprovalPhase.DENIED), vote(Verdict.DENY))
    yield card("repair-denied", repair(phase=RepairPhase.DENIED, ended_at=NOW), *no)
    late = approval(kind, "anf_change", ApprovalPhase.EXPIRED, expires_at=NOW)
    yield card("repair-expired", repair(phase=RepairPhase.EXPIRED, ended_at=NOW), late)
    gone = repair(phase=RepairPhase.WITHDRAWN, ended_at=NOW, withdrawn_by=ALICE)
    yield card("repair-withdrawn", gone, asked(kind, ApprovalPhase.VOIDED))
