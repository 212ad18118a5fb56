"""Decides the next step for a capacity pool that is created or deleted. Pure: no I/O."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.approvals import ApprovalPhase
from bot.reconcile.decisions import UpdateStatus, Wait
from bot.volumes.operations import Progress
from bot.volumes.provisioning.tables import PoolPhase, PoolRequest, PoolVerb
from bot.volumes.resources import Pool, is_settled
from bot.volumes.wording import capacity

LATE_AFTER, WITHIN = timedelta(hours=1), timedelta(days=1)
_FAILED = "failed"
_AGAIN = "Request it again."


@dataclass(frozen=True)
class PoolObserved:
    """What rows and Azure show: the pool, what needs it, and the operation that was begun.

    `barred` is why the request may no longer be carried out, `unread` why Azure cannot be asked
    about it, as sentences.
    """

    approval: ApprovalPhase = ApprovalPhase.USED
    note: str = ""
    pool: Pool | None = None
    needs: str = ""
    progress: Progress | None = None
    barred: str = ""
    unread: str = ""
    installation: str = ""


@dataclass(frozen=True)
class BeginApproved:
    """It was approved: use the approval and begin."""


@dataclass(frozen=True)
class MakePool:
    """Create the pool."""


@dataclass(frozen=True)
class RemovePool:
    """Delete the pool."""


@dataclass(frozen=True)
class Begun:
    """Azure accepted the request; `operation` is the URL to poll, empty if there is none."""

    operation: str


@dataclass(frozen=True)
class EndPool:
    """The request has ended; sentences give the reason and what to do."""

    phase: PoolPhase
    reason: str = ""
    unblock: str = ""


Decision = Wait | UpdateStatus[PoolPhase] | BeginApproved | MakePool | RemovePool | Begun | EndPool


def decide(row: PoolRequest, look: PoolObserved, now: datetime) -> Decision:
    """The next step for a request."""
    match PoolPhase(row.phase):
        case PoolPhase.ASKED:
            return _asked(look)
        case PoolPhase.WORKING if look.unread:
            said = f"{look.unread} What Azure has accepted goes on there."
            return EndPool(PoolPhase.FAILED, said, "`/anf pools` shows what exists.")
        case PoolPhase.WORKING if row.verb == PoolVerb.CREATE:
            return _creating(row, look, now)
        case PoolPhase.WORKING:
            return _deleting(row, look, now)
        case _:
            return Wait()


def _asked(look: PoolObserved) -> Decision:
    match look.approval:
        case ApprovalPhase.DENIED:
            return EndPool(PoolPhase.DENIED)
        case ApprovalPhase.EXPIRED:
            return EndPool(PoolPhase.EXPIRED)
        case ApprovalPhase.VOIDED:
            return EndPool(PoolPhase.FAILED, look.note, _AGAIN)
        case ApprovalPhase.APPROVED | ApprovalPhase.USED:
            return (
                EndPool(PoolPhase.FAILED, look.barred, _AGAIN) if look.barred else BeginApproved()
            )
        case _:
            return Wait()


def _creating(row: PoolRequest, look: PoolObserved, now: datetime) -> Decision:
    pool = look.pool
    if pool is None:
        return _failure(look) or _unseen(row, look, now)
    if (pool.made_by, pool.made_for) != (look.installation, row.id):
        said = f"Pool {pool.name} exists, and was not created for this request."
        return EndPool(PoolPhase.FAILED, said, "Choose another name.")
    if pool.state.lower() == _FAILED:
        said = f"Azure could not create pool {pool.name}. {_told(look.progress)}".strip()
        return EndPool(PoolPhase.FAILED, said, f"Delete it: `/anf pool delete {pool.name}`.")
    return EndPool(PoolPhase.DONE) if is_settled(pool) else _following(row, now)


def _unseen(row: PoolRequest, look: PoolObserved, now: datetime) -> Decision:
    """The next step while Azure shows no pool, which it may do shortly after creating one."""
    if not row.operation:
        return _begin(row, look, MakePool(), now)
    is_over = look.progress is None or look.progress.is_done
    if is_over and now - row.since > LATE_AFTER:
        said = f"Azure has ended its operation, and shows no pool {row.pool}."
        return EndPool(PoolPhase.FAILED, said, _AGAIN)
    return _following(row, now)


def _deleting(row: PoolRequest, look: PoolObserved, now: datetime) -> Decision:
    pool = look.pool
    if pool is None:
        return EndPool(PoolPhase.DONE)
    changed = _changed(row, pool)
    if changed:
        return EndPool(PoolPhase.FAILED, f"{changed} It was not deleted.", _AGAIN)
    failed = _failure(look)
    if failed is not None:
        return failed
    if pool.state.lower() == "deleting" or (row.operation and look.progress is not None):
        return _following(row, now)
    if look.needs:
        said = f"{look.needs} It was not deleted."
        return EndPool(PoolPhase.FAILED, said, "Delete or move these first; then request it again.")
    return _begin(row, look, RemovePool(), now)


def _begin(
    row: PoolRequest, look: PoolObserved, act: MakePool | RemovePool, now: datetime
) -> Decision:
    if look.barred:
        return EndPool(PoolPhase.FAILED, look.barred, _AGAIN)
    if now - row.since > WITHIN:
        return EndPool(PoolPhase.FAILED, "Azure did not accept it within a day.", _AGAIN)
    return act


def _following(row: PoolRequest, now: datetime) -> Decision:
    is_late = now - row.since > LATE_AFTER
    said = "Azure takes longer than an hour, and offers no way to cancel it." if is_late else ""
    return UpdateStatus(PoolPhase.WORKING, said)


def _failure(look: PoolObserved) -> EndPool | None:
    if look.progress is None or not look.progress.is_lost:
        return None
    said = f"Azure reports that it failed. {_told(look.progress)}".strip()
    return EndPool(PoolPhase.FAILED, said, _AGAIN)


def _told(progress: Progress | None) -> str:
    if progress is None or not (progress.code or progress.message):
        return ""
    return f"{progress.code}: {progress.message}".strip(": ")


def _changed(row: PoolRequest, pool: Pool) -> str:
    if pool.uuid != row.uuid:
        return f"Pool {pool.name} is now a different pool of the same name."
    if (pool.level, pool.size_bytes) != (row.level, row.size_bytes):
        now, then = capacity(pool.size_bytes), capacity(row.size_bytes)
        return f"Pool {pool.name} is {pool.level} with {now} now, {row.level} with {then} then."
    return ""
