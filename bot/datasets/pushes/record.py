"""Writes the observed state of a push to its row, and posts what people must know."""

from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from bot import holds
from bot.datasets.caches.shares import service
from bot.datasets.caches.tables import CacheShare
from bot.datasets.drops.tables import Drop
from bot.datasets.pushes import notices
from bot.datasets.pushes.decide import (
    AwaitDeletion,
    Close,
    Decision,
    Pushed,
    PushObserved,
    Recreate,
    is_late,
)
from bot.datasets.pushes.versions import Versions
from bot.datasets.saying import Said
from bot.datasets.tables import PUSH, Push, PushPhase
from bot.masking import hide_secrets
from bot.reconcile.decisions import Delete, Done, Fail, UpdateStatus
from bot.reconcile.frame import Findings
from bot.slack.markup import FormatCommand
from bot.slack.messages import refresh_cards

_SMOOTHING = 0.5


PushFindings = Findings[Decision, PushObserved]


@dataclass(frozen=True)
class Ways:
    """Records versions and formats commands."""

    versions: Versions
    format_command: FormatCommand


def record(session: Session, row_id: str, found: PushFindings, ways: Ways) -> None:
    """Updates the row, and the card if what it shows has changed."""
    push = session.get(Push, row_id)
    if push is None:
        return
    before = _shown(push)
    seen = found.observed.seen
    is_going = isinstance(found.decision, Delete)
    if seen.job is not None and not seen.is_taken and push.is_live and not is_going:
        push.job_uid = seen.job.uid
    restored = found.observed.restored
    if restored is not None and restored.claim is not None:
        push.volume_name = restored.claim.spec.volume_name or push.volume_name
    push.trouble = ""
    _apply(session, push, found)
    match found.decision:
        case Pushed(said):
            _push(push, said, found)
            ways.versions.record(session, push, found.now)
            notices.ended(session, push, ways.format_command, found.now)
        case Fail() as fail:
            push.phase, push.keys = PushPhase.FAILED, list(fail.keys)
            push.reason, push.unblock = hide_secrets(fail.reason), fail.unblock
            _end(push, found.now)
            notices.ended(session, push, ways.format_command, found.now)
        case _:
            pass
    push.is_late = is_late(push, found.now)
    session.add(push)
    if _shown(push) != before:
        refresh_cards(session, push.subject, live=push.is_live)


def _apply(session: Session, push: Push, found: PushFindings) -> None:
    match found.decision:
        case UpdateStatus() as follow:
            _follow(session, push, follow, found)
        case Recreate():
            push.job_uid = None
        case Close():
            service.close(session, session.get_one(CacheShare, push.share_id), found.now)
        case AwaitDeletion(why):
            push.trouble = why
        case Done(retained):
            push.is_cleared, push.retained = True, retained
            holds.release(session, PUSH, push.id)
            _forget(session, push)
        case _:
            pass


def _forget(session: Session, push: Push) -> None:
    """Deletes what was kept of the files of its message."""
    drop = session.get(Drop, push.id)
    if drop is not None:
        session.delete(drop)


def _follow(
    session: Session, push: Push, follow: UpdateStatus[PushPhase], found: PushFindings
) -> None:
    seen = found.observed.seen
    if follow.phase is not PushPhase(push.phase):
        push.phase, push.since = follow.phase, found.now
        if follow.phase is PushPhase.COPYING:
            push.since = push.started_at = seen.started_at or found.now
    said, push.obstacle = seen.said, follow.obstacle
    if said is not None and said.event == "failed":
        push.obstacle = f"{hide_secrets(said.message)} Retrying."
    if said is None or said.event != "progress":
        return
    if push.is_upload and not push.is_drop and not push.stage:
        notices.waiting(session, push, found.now)
    push.stage, push.files_total, push.bytes_total = said.phase, said.files_total, said.bytes_total
    push.files_done, push.bytes_done = said.files_done, said.bytes_done
    rate, before = said.bytes_per_second, push.bytes_per_second
    if rate is not None and before:
        rate = _SMOOTHING * rate + (1 - _SMOOTHING) * before
    push.bytes_per_second = rate


def _push(push: Push, said: Said, found: PushFindings) -> None:
    push.phase = PushPhase.PUSHED
    push.started_at = push.started_at or found.observed.seen.started_at
    push.files_total, push.bytes_total = said.objects, said.bytes
    push.files_done, push.bytes_done = said.objects, said.bytes
    push.copied_files, push.copied_bytes = said.copied_files, said.copied_bytes
    push.verified_by = dict(said.verified_by)
    push.verified_bytes = dict(said.verified_bytes)
    push.links, push.others = said.links.count, said.others
    job = found.observed.seen.job
    _end(push, (job.status.completion_time if job is not None else None) or found.now)


def _end(push: Push, moment: datetime) -> None:
    push.since = push.ended_at = moment
    push.stage, push.obstacle, push.bytes_per_second = "", "", None


def _shown(push: Push) -> tuple[object, ...]:
    """The fields that the card of a push shows."""
    return (
        push.phase, push.since, push.stage, push.obstacle, push.trouble, push.is_late,
        push.files_total, push.files_done, push.bytes_done, push.bytes_per_second, push.ended_at,
        push.stopped_by, push.retained,
    )  # fmt: skip
