"""States of the cards of quota overrides, for approvers and for the channel of the request."""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlmodel import SQLModel

from bot.approvals.tables import Approval, ApprovalPhase, Verdict, Vote
from bot.quotas.tables import ManagedQuota, Mode, Override, OverridePhase, QuotaAdjustment
from tests.handlers.command_client import ALICE, APPROVALS, CAROL, ERIN, TEAM_A
from tests.states.state import DAY, HOUR, ID, MINUTE, NOW, State, card, usual

ASKED = NOW - HOUR


def approval(kind: str, policy: str, phase: ApprovalPhase, **more: Any) -> Approval:
    """The request for approval of the row that a card is about."""
    fields: dict[str, Any] = {
        "id": f"approval-{ID}", "workspace_id": "T0QM", "subject_kind": kind, "subject_id": ID,
        "lane": "cluster:default", "policy": policy, "digest": "", "requester": ALICE,
        "channel": TEAM_A, "team": "team-a", "reason": "CVPR deadline", "needed": 1,
        "phase": phase, "asked_at": ASKED, "expires_at": ASKED + DAY,
    }  # fmt: skip
    return Approval(**(fields | more))


def vote(verdict: Verdict = Verdict.APPROVE, who: str = CAROL, at: datetime = NOW) -> Vote:
    """One vote on it."""
    about = f"approval-{ID}"
    return Vote(id=f"vote-{who}", approval_id=about, person=who, verdict=verdict, at=at)


def override(**more: Any) -> Override:
    """Alice's request for eight GPUs more."""
    fields = {
        **usual(queue="team-a", flavor="h100", resource="nvidia.com/gpu"),
        "mode": Mode.NOMINAL_QUOTA, "amount": Decimal(8), "shown_from": Decimal(4),
        "duration_seconds": 259_200, "reason": "CVPR deadline", "requester": ALICE,
        "asked_at": ASKED,
    }  # fmt: skip
    for name in ("person", "namespace"):
        del fields[name]
    return Override(**(fields | more))


def asked(phase: ApprovalPhase = ApprovalPhase.ASKED, **more: Any) -> Approval:
    """The request for approval of an override."""
    return approval("override", "quota_override", phase, **more)


def active(**more: Any) -> Override:
    """One that has been in effect for a day."""
    times = {"starts_at": NOW - DAY, "ends_at": NOW + 2 * DAY, "asked_at": NOW - DAY - HOUR}
    return override(**{"phase": OverridePhase.ACTIVE, **times, **more})


def over(phase: OverridePhase, **more: Any) -> Override:
    """One that has ended."""
    times = {"starts_at": NOW - 3 * DAY, "ends_at": NOW, "ended_at": NOW}
    return override(**{"phase": phase, **times, "asked_at": NOW - 3 * DAY - HOUR, **more})


def states() -> Iterator[State]:
    """All of them."""
    yield from _asked()
    yield from _decided()
    yield from _active()
    yield from _over()


def _asked() -> Iterator[State]:
    yield card("approval-pending", override(), asked(), channel=APPROVALS)
    yield card("approval-pending-in-its-channel", override(), asked())
    yield card(
        "approval-half-given", override(), asked(needed=2), vote(who=ERIN), channel=APPROVALS
    )
    unknown = override(queue="elsewhere")
    yield card("approval-pending-without-figures", unknown, asked(), channel=APPROVALS)
    donor = {"donor_team": "team-b", "donor_queue": "team-b"}
    lent = override(mode=Mode.TRANSFER, amount=Decimal(2), **donor)
    yield card("approval-pending-transfer", lent, asked(), channel=APPROVALS)
    limit = override(mode=Mode.BORROWING_LIMIT)
    yield card("approval-pending-borrowing", limit, asked(), channel=APPROVALS)
    base = override(mode=Mode.BASE, amount=Decimal(8), duration_seconds=None)
    yield card(
        "approval-pending-base",
        base,
        approval("override", "quota_base", ApprovalPhase.ASKED),
        channel=APPROVALS,
    )


def _decided() -> Iterator[State]:
    approved = override(phase=OverridePhase.APPROVED)
    yes = asked(ApprovalPhase.APPROVED)
    yield card("approval-approved", approved, yes, vote(), channel=APPROVALS)
    glass = asked(ApprovalPhase.USED, is_break_glass=True)
    yield card("approval-break-glass", approved, glass, channel=APPROVALS)
    denied = override(phase=OverridePhase.DENIED, ended_at=NOW)
    no = vote(Verdict.DENY)
    yield card("approval-denied", denied, asked(ApprovalPhase.DENIED), no, channel=APPROVALS)
    yield card("approval-denied-in-its-channel", denied, asked(ApprovalPhase.DENIED), no)
    late = asked(ApprovalPhase.EXPIRED, expires_at=NOW)
    expired = override(phase=OverridePhase.EXPIRED, ended_at=NOW)
    yield card("approval-expired", expired, late, channel=APPROVALS)
    gone = asked(ApprovalPhase.VOIDED, note="It was revoked before a decision.")
    yield card(
        "approval-voided",
        override(phase=OverridePhase.REVOKED, revoked_by=ALICE, revoked_at=NOW, ended_at=NOW),
        gone,
        channel=APPROVALS,
    )


def _active() -> Iterator[State]:
    done = (asked(ApprovalPhase.USED), vote(at=NOW - DAY))
    yield card("override-active", active(), *done)
    yield card("override-active-for-approvers", active(), *done, channel=APPROVALS)
    longer = active(ends_at=NOW + 5 * DAY, duration_seconds=518_400)
    yield card("override-extended", longer, *done)
    refused = "Kueue's webhook refused the new value: borrowingLimit must be nil."
    yield card("override-late", active(phase=OverridePhase.APPROVED, trouble=refused), *done)
    why = (
        "The nominal quota of ClusterQueue team-a (h100) was set to 6 outside Quartermaster; it"
        " should be 12. Nothing was changed."
    )
    yield card("override-stopped-by-a-change", active(), *done, *_managed(why), channel=APPROVALS)
    yield card("override-ending", active(phase=OverridePhase.ENDING, ends_at=NOW), *done)


def _managed(why: str) -> tuple[SQLModel, SQLModel]:
    quota = ManagedQuota(
        id="quota", workspace_id="T0QM", cluster="default", queue="team-a", flavor="h100",
        resource="nvidia.com/gpu", field="nominalQuota", baseline=Decimal(4),
        last_written=Decimal(12), external_value=Decimal(6), stopped_because=why,
    )  # fmt: skip
    adjustment = QuotaAdjustment(
        id="adjustment",
        override_id=ID,
        quota_id="quota",
        position=0,
        delta=Decimal(8),
        is_applied=True,
    )
    return quota, adjustment


def _over() -> Iterator[State]:
    done = (asked(ApprovalPhase.USED), vote(at=NOW - 3 * DAY))
    yield card("override-ended", over(OverridePhase.ENDED), *done)
    early = {"revoked_by": ERIN, "revoked_at": NOW - MINUTE}
    yield card("override-revoked", over(OverridePhase.REVOKED, **early), *done)
    note = "ClusterQueue team-a no longer exists."
    yield card("override-failed", over(OverridePhase.FAILED, note=note), *done)
