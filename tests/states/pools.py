"""States of capacity pools that are created or deleted."""

from collections.abc import Iterator
from typing import Any

from bot.approvals import ApprovalPhase, Verdict
from bot.volumes.provisioning.tables import POOL_REQUEST, PoolPhase, PoolRequest, PoolVerb
from tests.handlers.command_client import ALICE, APPROVALS
from tests.states.quotas import approval, vote
from tests.states.state import DAY, HOUR, MINUTE, NOW, SILENT, State, card, usual


def request(**more: Any) -> PoolRequest:
    """Alice's request for a pool of 4 TiB."""
    asked = NOW - HOUR
    fields = usual(
        verb=PoolVerb.CREATE, subscription="any", resource_group="ml-platform", account="anf-ml",
        pool="premium-2", place_key="any", level="Premium", qos="Auto", size_bytes=4 * 2**40,
        cost=1187.84, asked_at=asked, since=asked,
    )  # fmt: skip
    for key in ("namespace", "cluster", "team"):
        del fields[key]
    return PoolRequest(**(fields | more))


def states() -> Iterator[State]:
    """All of them."""
    asked = approval(POOL_REQUEST, "anf_pool", ApprovalPhase.ASKED)
    yield card("anf-pool-pending", request(), asked, channel=APPROVALS)
    yield card("anf-pool-pending-in-its-channel", request(), asked)
    flexible = request(level="Flexible", qos="Manual", mibps=256, cost=None)
    yield card("anf-pool-pending-without-price", flexible, asked, channel=APPROVALS)
    deleted = request(verb=PoolVerb.DELETE, uuid="any")
    yield card("anf-pool-deletion-pending", deleted, asked, channel=APPROVALS)
    others = request(verb=PoolVerb.DELETE, uuid="any", is_own=False)
    yield card("anf-pool-deletion-pending-of-others", others, asked, channel=APPROVALS)
    used = approval(POOL_REQUEST, "anf_pool", ApprovalPhase.USED)
    working = {"phase": PoolPhase.WORKING, "operation": "any"}
    yield card("anf-pool-in-progress", request(**working), used, vote())
    late = "Azure takes longer than an hour, and offers no way to cancel it."
    yield card("anf-pool-late", request(obstacle=late, **working), used, vote())
    yield card("anf-pool-retrying", request(trouble=SILENT, **working), used, vote())
    yield from _ended()


def _ended() -> Iterator[State]:
    end = {"ended_at": NOW, "since": NOW}
    used = approval(POOL_REQUEST, "anf_pool", ApprovalPhase.USED)
    yield card("anf-pool-done", request(phase=PoolPhase.DONE, **end), used, vote())
    why = {
        "verb": PoolVerb.DELETE,
        "reason": "Pool premium-2 has 1 volume: late. It was not deleted.",
        "unblock": "Delete or move these first; then request it again.",
    }
    yield card("anf-pool-failed", request(phase=PoolPhase.FAILED, **why, **end), used, vote())
    denied = approval(POOL_REQUEST, "anf_pool", ApprovalPhase.DENIED)
    no = vote(Verdict.DENY)
    yield card("anf-pool-denied", request(phase=PoolPhase.DENIED, **end), denied, no)
    expired = approval(POOL_REQUEST, "anf_pool", ApprovalPhase.EXPIRED, expires_at=NOW - MINUTE)
    old = request(phase=PoolPhase.EXPIRED, asked_at=NOW - DAY, **end)
    yield card("anf-pool-expired", old, expired)
    void = approval(POOL_REQUEST, "anf_pool", ApprovalPhase.VOIDED)
    gone = request(phase=PoolPhase.WITHDRAWN, withdrawn_by=ALICE, **end)
    yield card("anf-pool-withdrawn", gone, void)
