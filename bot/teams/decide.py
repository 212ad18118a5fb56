"""Decides the next step for a change of a team. Pure: no I/O."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.approvals import ApprovalPhase
from bot.reconcile.decisions import UpdateStatus, Wait
from bot.teams.objects import KeptObject
from bot.teams.tables import ChangePhase, TeamChange, Verb

CLOSED_AFTER = timedelta(seconds=15)
"""After this time, every process has taken a team out of its settings; they look every 5 s."""
DELETED = "will be deleted"
"""The check of an object that a removal deletes."""
_NOTHING = "Nothing was changed."
_LEFT = "What was created stays. Request the same team again to use it, or delete it by hand."
_SLOW_AFTER = timedelta(minutes=1)


@dataclass(frozen=True)
class ObjectState:
    """An object of a team in the cluster; `uid` is empty if it is missing.

    `is_other` says that it is ours, but was created for a request with other values. `unready` is
    what it still lacks, and `delays` what its deletion may wait for, as sentences.
    """

    object: KeptObject
    uid: str = ""
    is_ours: bool = False
    is_leaving: bool = False
    is_other: bool = False
    unready: str = ""
    delays: str = ""

    @property
    def is_missing(self) -> bool:
        """Whether there is no object of that name."""
        return not self.uid


@dataclass(frozen=True)
class Problem:
    """Why a change is not possible, and what to do, as sentences."""

    reason: str
    unblock: str = ""


@dataclass(frozen=True)
class TeamObserved:
    """What rows and cluster show of a change.

    `checks` says for each object what its dry run showed, `problem` is what would refuse it. `uses`
    are what needs the team, as sentences. `is_known` says whether the team is still in the
    settings.
    """

    approval: ApprovalPhase = ApprovalPhase.ASKED
    note: str = ""
    objects: Sequence[ObjectState] = ()
    checks: tuple[str, ...] = ()
    problem: Problem | None = None
    uses: tuple[str, ...] = ()
    is_known: bool = False


@dataclass(frozen=True)
class Ask:
    """It is possible: show what is made or removed, and request the approval."""

    objects: Sequence[KeptObject] = field(default_factory=tuple)
    checks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Approved:
    """The change was approved: use the approval and begin."""


@dataclass(frozen=True)
class MakeObject:
    """Create the object."""

    object: KeptObject


@dataclass(frozen=True)
class RemoveObject:
    """Delete the object, if it still has that uid."""

    object: KeptObject
    uid: str


@dataclass(frozen=True)
class EndChange:
    """The change has ended; sentences give the reason and what to do."""

    phase: ChangePhase
    reason: str = ""
    unblock: str = ""


Decision = Wait | UpdateStatus[ChangePhase] | Ask | Approved | MakeObject | RemoveObject | EndChange


def decide(row: TeamChange, look: TeamObserved, now: datetime) -> Decision:
    """The next step for a change."""
    match ChangePhase(row.phase):
        case ChangePhase.CHECKING:
            return _checked(row, look)
        case ChangePhase.ASKED:
            return _asked(look)
        case ChangePhase.MAKING:
            return _making(row, look, now)
        case ChangePhase.CLOSING:
            return _closing(row, look, now)
        case ChangePhase.REMOVING:
            return _removing(row, look, now)
        case _:
            return Wait()


def _checked(row: TeamChange, look: TeamObserved) -> Decision:
    problem = look.problem or _foreign(row, look) or _other(row, look) or _needed(row, look)
    if problem is not None:
        return EndChange(ChangePhase.FAILED, f"{problem.reason} {_NOTHING}", problem.unblock)
    return Ask([each.object for each in look.objects], look.checks)


def _asked(look: TeamObserved) -> Decision:
    match look.approval:
        case ApprovalPhase.DENIED:
            return EndChange(ChangePhase.DENIED)
        case ApprovalPhase.EXPIRED:
            return EndChange(ChangePhase.EXPIRED)
        case ApprovalPhase.VOIDED:
            return EndChange(ChangePhase.FAILED, look.note, "Request it again.")
        case ApprovalPhase.APPROVED | ApprovalPhase.USED:
            return Approved()
        case _:
            return Wait()


def _making(row: TeamChange, look: TeamObserved, now: datetime) -> Decision:
    if row.withdrawn_by is not None:
        is_left = look.problem is not None or any(each.is_ours for each in look.objects)
        return EndChange(ChangePhase.WITHDRAWN, created_so_far(look), _LEFT if is_left else "")
    foreign = _foreign(row, look)
    if foreign is not None:
        return EndChange(ChangePhase.FAILED, foreign.reason, foreign.unblock)
    leaving = next((each for each in look.objects if each.is_leaving), None)
    if leaving is not None:
        said = f"{leaving.object.title} is still being deleted."
        return UpdateStatus(ChangePhase.MAKING, said if now - row.since > _SLOW_AFTER else "")
    missing = next((each for each in look.objects if each.is_missing), None)
    if missing is not None:
        return MakeObject(missing.object)
    unready = next((each.unready for each in look.objects if each.unready), "")
    if unready:
        return UpdateStatus(ChangePhase.MAKING, unready if now - row.since > _SLOW_AFTER else "")
    return EndChange(ChangePhase.DONE)


def created_so_far(look: TeamObserved) -> str:
    """What there is of a team, as a sentence."""
    if look.problem is not None:
        return look.problem.reason
    made = [each.object.title for each in look.objects if each.is_ours]
    return f"Created so far: {', '.join(made)}." if made else "Nothing was created."


def _closing(row: TeamChange, look: TeamObserved, now: datetime) -> Decision:
    if now - row.since < CLOSED_AFTER:
        return Wait(row.since + CLOSED_AFTER)
    needed = _needed(row, look)
    if needed is not None:
        said = f"{needed.reason} The team was put back; nothing was deleted."
        return EndChange(ChangePhase.FAILED, said, needed.unblock)
    return UpdateStatus(ChangePhase.REMOVING)


def _removing(row: TeamChange, look: TeamObserved, now: datetime) -> Decision:
    """The last made is the first removed; what is not ours is left in place."""
    own = [each for each in reversed(look.objects) if each.is_ours]
    if not own:
        return EndChange(ChangePhase.DONE)
    first = own[0]
    if not first.is_leaving:
        if look.uses:
            waits = f"{' '.join(look.uses)} End or delete these; then the rest is deleted."
            return UpdateStatus(ChangePhase.REMOVING, waits)
        return RemoveObject(first.object, first.uid)
    is_slow = now - row.since > _SLOW_AFTER
    said = f"{first.object.title} is being deleted. {first.delays}"
    return UpdateStatus(ChangePhase.REMOVING, said if is_slow else "")


def _foreign(row: TeamChange, look: TeamObserved) -> Problem | None:
    """An object of such a name that the bot did not make is never touched."""
    if row.verb == Verb.REMOVE:
        return None
    other = next((each for each in look.objects if not (each.is_missing or each.is_ours)), None)
    if other is None:
        return None
    said = (
        f"{other.object.title} already exists, and was not created by Quartermaster for this team."
    )
    return Problem(
        said,
        "Choose other names with `--namespace` and `--queue`, or add the team to"
        " quartermaster.yaml, which may use what exists.",
    )


def _other(row: TeamChange, look: TeamObserved) -> Problem | None:
    """What a failed request left counts only for a request of the same."""
    other = next((each.object.title for each in look.objects if each.is_other), None)
    if row.verb == Verb.REMOVE or other is None:
        return None
    return Problem(
        f"{other} exists already, created by Quartermaster for a request with other values.",
        f"Request it again with the values of that request, or delete {other} first.",
    )


def _needed(row: TeamChange, look: TeamObserved) -> Problem | None:
    if row.verb == Verb.CREATE:
        return None
    if look.is_known:
        return Problem(
            f"quartermaster.yaml names {row.team}.", "Remove it there first; then request it again."
        )
    if not look.uses:
        return None
    said = f"Team {row.team} is still in use. {' '.join(look.uses)}"
    return Problem(said, "End or delete these first; then request it again.")
