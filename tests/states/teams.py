"""States of the cards of teams that are created and removed."""

from collections.abc import Iterator
from typing import Any

from bot.approvals.tables import ApprovalPhase, Verdict
from bot.teams.decide import DELETED
from bot.teams.tables import CHANGE, ChangePhase, TeamChange, Verb
from tests.handlers.command_client import ALICE, APPROVALS, ERIN
from tests.states.quotas import approval, vote
from tests.states.state import HOUR, MINUTE, NOW, SILENT, State, card, usual

_POLICY = "team_change"
_PLACES = (
    ("Namespace", "vision", None),
    ("RoleBinding", "quartermaster-team", "vision"),
    ("ClusterQueue", "vision", None),
    ("LocalQueue", "vision", "vision"),
)
_OBJECTS: list[dict[str, Any]] = [
    {"kind": kind, "name": name, "namespace": space, "body": {}} for kind, name, space in _PLACES
]
_TRIED = "accepted by a dry run"
_LATER = "allowed; no dry run before its namespace exists"
_SAID = {
    "cluster": "default", "namespace": "vision", "queue": "vision", "channels": ["C0VISION"],
    "members": {"people": [ALICE], "groups": ["S0VISION"]}, "leads": {"people": [ERIN]},
}  # fmt: skip


def change(**more: Any) -> TeamChange:
    """The team vision, with 8 GPUs."""
    fields = usual(
        team="vision", namespace="vision", queue="vision", verb=Verb.CREATE, gpus=8,
        gpu_type="h100", above="gpus", said=_SAID, objects=_OBJECTS,
        checks=[_TRIED, _LATER, _TRIED, _LATER], phase=ChangePhase.MAKING,
        asked_at=NOW - HOUR, since=NOW - MINUTE,
    )  # fmt: skip
    return TeamChange(**(fields | more))


def on_project(**more: Any) -> TeamChange:
    """The same team on Run:ai, with more than its department has."""
    project: dict[str, Any] = {"kind": "Project", "name": "vision", "namespace": None, "body": {}}
    shares = (
        "its name is free; Run:ai has no dry run. Projects of department research then have 20 of"
        " its 16 GPUs of h100, more than it has: Run:ai may refuse this."
    )
    return change(
        above="research",
        objects=[*_OBJECTS[:2], project],
        checks=[_TRIED, _LATER, shares],
        **more,
    )


def removal(**more: Any) -> TeamChange:
    """The removal of that team."""
    return change(verb=Verb.REMOVE, gpus=0, gpu_type="", above="", checks=[DELETED] * 4, **more)


def states() -> Iterator[State]:
    """All of them."""
    asked, used = (approval(CHANGE, _POLICY, each) for each in _WAY)
    phase = ChangePhase
    yield card("team-checking", change(phase=phase.CHECKING, objects=[], checks=[]))
    yield card("team-pending", change(phase=phase.ASKED), asked, channel=APPROVALS)
    yield card("team-pending-in-its-channel", change(phase=phase.ASKED), asked)
    on_runai = on_project(phase=phase.ASKED)
    yield card("team-pending-on-runai", on_runai, asked, channel=APPROVALS)
    yield card("team-creating", change(), used, vote())
    slow = "Namespace vision is still being deleted."
    yield card("team-blocked", change(obstacle=slow))
    unready = "Run:ai's project vision is NotReady: NamespaceHandlerFailed."
    yield card("team-unready-on-runai", on_project(obstacle=unready), used, vote())
    yield card("team-retrying", change(trouble=SILENT))
    yield card("team-created", change(phase=phase.DONE, ended_at=NOW), used, vote())
    why = {
        "reason": "Namespace vision already exists, and was not created by Quartermaster for this"
        " team. Nothing was changed.",
        "unblock": "Choose other names with `--namespace` and `--queue`, or add the team to"
        " quartermaster.yaml, which may use what exists.",
    }
    failed = change(phase=phase.FAILED, ended_at=NOW, objects=[], checks=[], **why)
    yield card("team-failed", failed)
    denied = approval(CHANGE, _POLICY, ApprovalPhase.DENIED)
    yield card("team-denied", change(phase=phase.DENIED, ended_at=NOW), denied, vote(Verdict.DENY))
    late = approval(CHANGE, _POLICY, ApprovalPhase.EXPIRED, expires_at=NOW)
    yield card("team-expired", change(phase=phase.EXPIRED, ended_at=NOW), late)
    gone = change(phase=phase.WITHDRAWN, ended_at=NOW, withdrawn_by=ERIN)
    yield card("team-withdrawn", gone, approval(CHANGE, _POLICY, ApprovalPhase.VOIDED))
    yield card("team-removal-pending", removal(phase=phase.ASKED), asked, channel=APPROVALS)
    yield card("team-closing", removal(phase=phase.CLOSING), used, vote())
    full = "It has 1 PVC: imagenet."
    yield card("team-removing", removal(phase=phase.REMOVING, obstacle=full), used, vote())
    yield card("team-removed", removal(phase=phase.DONE, ended_at=NOW), used, vote())


_WAY = (ApprovalPhase.ASKED, ApprovalPhase.USED)
