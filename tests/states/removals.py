"""States of requests to remove what costs or holds more than people may remove alone."""

import json
from collections.abc import Iterator
from typing import Any

from bot.approvals import ApprovalPhase, Verdict
from bot.leftovers.removals.tables import REMOVAL_REQUEST, RemovalKind, RemovalPhase, RemovalRequest
from tests.handlers.command_client import ALICE, APPROVALS
from tests.states.quotas import approval, vote
from tests.states.state import DAY, HOUR, MINUTE, NOW, SILENT, State, card, usual

_VALUE = {"t": "team-a", "c": "default", "p": "imagenet", "u": "uid", "s": False}


def request(**more: Any) -> RemovalRequest:
    """Alice's request to delete a PVC of 2 TiB."""
    asked = NOW - HOUR
    fields = usual(
        kind=RemovalKind.CLAIM, thing="uid", value=json.dumps(_VALUE), title="PVC imagenet",
        place="namespace team-a of cluster default", size_bytes=2 * 2**40, cost=204.8,
        asked_at=asked, since=asked,
    )  # fmt: skip
    del fields["namespace"], fields["cluster"]
    return RemovalRequest(**(fields | more))


def states() -> Iterator[State]:
    """All of them."""
    asked = approval(REMOVAL_REQUEST, "removal", ApprovalPhase.ASKED)
    yield card("removal-request-pending", request(), asked, channel=APPROVALS)
    yield card("removal-request-pending-in-its-channel", request(), asked)
    saved = request(value=json.dumps(_VALUE | {"s": True}), cost=None)
    yield card("removal-request-pending-snapshot-first", saved, asked, channel=APPROVALS)
    kept = request(kind=RemovalKind.SNAPSHOT, value="id", title="snapshot imagenet-2026", cost=None)
    yield card("removal-request-pending-of-a-snapshot", kept, asked, channel=APPROVALS)
    cache = request(kind=RemovalKind.CACHE, value="id", title="cache chest-xray@v3",
                    place="class premium")  # fmt: skip
    yield card("removal-request-pending-of-a-cache", cache, asked, channel=APPROVALS)
    left = request(kind=RemovalKind.OBJECT, value="id", title="PersistentVolumeClaim old-1",
                   place="namespace datasets of cluster default", team="")  # fmt: skip
    yield card("removal-request-pending-of-an-object", left, asked, channel=APPROVALS)
    yield card("removal-request-blocked", request(obstacle="Checking who you are."), asked)
    yield card("removal-request-retrying", request(trouble=SILENT), asked)
    yield from _ended()


def _ended() -> Iterator[State]:
    end = {"ended_at": NOW, "since": NOW}
    used = approval(REMOVAL_REQUEST, "removal", ApprovalPhase.USED)
    yield card("removal-request-started", request(phase=RemovalPhase.STARTED, **end), used, vote())
    why = {
        "reason": "PVC imagenet is needed now. Pod user mounts it. PVC imagenet was not removed.",
        "unblock": "Stop what uses it, or wait until it has ended. Then delete it again.",
    }
    void = approval(REMOVAL_REQUEST, "removal", ApprovalPhase.VOIDED)
    yield card(
        "removal-request-refused", request(phase=RemovalPhase.REFUSED, **why, **end), void, vote()
    )
    denied = approval(REMOVAL_REQUEST, "removal", ApprovalPhase.DENIED)
    no = vote(Verdict.DENY)
    yield card("removal-request-denied", request(phase=RemovalPhase.DENIED, **end), denied, no)
    late = approval(REMOVAL_REQUEST, "removal", ApprovalPhase.EXPIRED, expires_at=NOW - MINUTE)
    old = request(phase=RemovalPhase.EXPIRED, asked_at=NOW - DAY, **end)
    yield card("removal-request-expired", old, late)
    gone = request(phase=RemovalPhase.WITHDRAWN, withdrawn_by=ALICE, **end)
    yield card("removal-request-withdrawn", gone, void)
