"""Records the outcome of a step of a copy in its row, and posts replies."""

from datetime import datetime

from sqlmodel import Session

from bot.approvals import Approvals
from bot.audit import Actor
from bot.audit import record as audit
from bot.datasets.saying import Said
from bot.datasets.wording import size
from bot.masking import hide_secrets
from bot.reconcile.decisions import Delete, Done, UpdateStatus
from bot.reconcile.frame import Findings
from bot.slack.markup import FormatCommand, Markup, code, join, person, plain, sentence
from bot.slack.messages import ThreadMessage, post_once, refresh_cards
from bot.snapshots.copies.decide import (
    Copied,
    CopyApproved,
    CopyObserved,
    Decision,
    EndCopy,
    Recreate,
)
from bot.snapshots.copies.tables import COPY, Copy, CopyPhase
from bot.volumes.wording import money

CopyFindings = Findings[Decision, CopyObserved]
_SMOOTHING = 0.5
_UNBEGUN = {
    CopyPhase.DENIED: "was denied",
    CopyPhase.EXPIRED: "was not decided in time",
    CopyPhase.WITHDRAWN: "was withdrawn",
}


class CopyRecorder:
    """Records steps of copies; approvals are used or voided in the same transaction."""

    def __init__(self, approvals: Approvals, format_command: FormatCommand) -> None:
        self._approvals = approvals
        self._format_command = format_command

    def record(self, session: Session, row_id: str, found: CopyFindings) -> None:
        """Updates the row, and refreshes the card if what it shows has changed."""
        row = session.get(Copy, row_id)
        if row is None:
            return
        before = _shown(row)
        row.trouble = ""
        if row.is_live:
            _note_objects(row, found)
        self._apply(session, row, found)
        session.add(row)
        if _shown(row) != before:
            refresh_cards(session, row.subject, live=row.is_live)

    def _apply(self, session: Session, row: Copy, found: CopyFindings) -> None:
        if not row.is_live:
            row.is_cleared = isinstance(found.decision, Done)
            return
        match found.decision:
            case CopyApproved():
                self._begin(session, row, found.now)
            case UpdateStatus(to, obstacle):
                _follow(row, to, obstacle, found)
            case Recreate():
                row.job_uid = None
            case Copied(said):
                _note_result(row, said, found)
                self.finish(session, row, CopyPhase.DONE, found.now)
            case EndCopy(to, reason, unblock):
                self._end(session, row, EndCopy(to, hide_secrets(reason), unblock), found.now)
            case _:
                pass

    def finish(self, session: Session, row: Copy, phase: CopyPhase, now: datetime) -> None:
        """Ends a copy in a phase, writes the audit line and notifies the requester."""
        finish(session, row, phase, now, self._format_command)

    def _begin(self, session: Session, row: Copy, now: datetime) -> None:
        approval = self._approvals.of(session, COPY, row.id)
        if approval is None or row.phase != CopyPhase.ASKED:
            return
        if self._approvals.use(session, approval, row.digest, now):
            row.phase, row.since, row.began_at = CopyPhase.PREPARING, now, now
        refresh_cards(session, row.subject, live=True)

    def _end(self, session: Session, row: Copy, end: EndCopy, now: datetime) -> None:
        if end.phase == CopyPhase.FAILED:
            self._approvals.void_for(session, (COPY, row.id), "it has failed", now)
        row.reason, row.unblock = end.reason, end.unblock
        self.finish(session, row, end.phase, now)


def finish(
    session: Session, row: Copy, phase: CopyPhase, now: datetime, format_command: FormatCommand
) -> None:
    """Ends a copy in a phase, writes the audit line and notifies the requester."""
    unbegun = phase in _UNBEGUN
    row.phase, row.since, row.ended_at = phase, now, now
    row.trouble = row.obstacle = row.stage = ""
    row.bytes_per_second, row.is_cleared = None, unbegun
    session.add(row)
    facts = {"pvc": row.claim_name, "to": row.target, "outcome": str(phase)}
    facts |= {"reason": row.reason} if row.reason else {}
    actor = Actor(row.workspace_id, team=row.team)
    audit(session, actor, "pvc.copy_ended", (COPY, row.id), facts, at=now)
    lines = (_ended(row), *advice(row, format_command))
    told = (join(person(row.person), " ", lines[0]), *lines[1:])
    note = ThreadMessage("ended", told, owner=row.person)
    post_once(session, row.subject, row.channel, note, now)
    refresh_cards(session, row.subject, live=False)


def advice(row: Copy, format_command: FormatCommand) -> tuple[Markup, ...]:
    """What to do after the end of a copy."""
    if row.phase == CopyPhase.DONE:
        mount = code(f"--pvc {row.target}:/data")
        costs = "" if row.source_cost is None else f", and costs {money(row.source_cost)} a month"
        return (
            join("Mount it in place of ", code(row.claim_name), ": ", mount, "."),
            join("PVC ", code(row.claim_name), plain(f" stays as it is{costs}. When nothing needs"
                 " it any more: "), code(format_command(f"pvc delete {row.claim_name}")), "."),
        )  # fmt: skip
    said = [sentence(row.unblock)] if row.unblock else []
    if row.phase == CopyPhase.FAILED and row.target_uid is not None:
        remove = code(format_command(f"pvc delete {row.target}"))
        said.append(join("PVC ", code(row.target), " stays with what was copied. To remove it: ",
                         remove, "."))  # fmt: skip
    return tuple(said)


def _note_objects(row: Copy, found: CopyFindings) -> None:
    """The uids of what was created; what is being deleted is not recorded."""
    seen, target = found.observed.seen, found.observed.target
    if seen.job is not None and not seen.is_taken and not isinstance(found.decision, Delete):
        row.job_uid = seen.job.uid
    if target is not None:
        row.target_uid = target.uid


def _follow(row: Copy, to: CopyPhase, obstacle: str, found: CopyFindings) -> None:
    seen = found.observed.seen
    if row.phase != to:
        row.phase, row.since = to, found.now
        if to is CopyPhase.COPYING:
            row.since = row.started_at = seen.started_at or found.now
    said, row.obstacle = seen.said, hide_secrets(obstacle)
    if said is not None and said.event == "failed":
        row.obstacle = f"{hide_secrets(said.message)} Retrying."
    if said is None or said.event != "progress":
        return
    row.stage, row.files_total, row.bytes_total = said.phase, said.files_total, said.bytes_total
    row.files_done, row.bytes_done = said.files_done, said.bytes_done
    rate, before = said.bytes_per_second, row.bytes_per_second
    if rate is not None and before:
        rate = _SMOOTHING * rate + (1 - _SMOOTHING) * before
    row.bytes_per_second = rate


def _note_result(row: Copy, said: Said, found: CopyFindings) -> None:
    row.started_at = row.started_at or found.observed.seen.started_at
    row.files_total, row.bytes_total = said.objects, said.bytes
    row.files_done, row.bytes_done = said.objects, said.bytes
    row.copied_files, row.counts = said.copied_files, dict(said.counts)
    row.others, row.changed = said.others, said.changed


def _ended(row: Copy) -> Markup:
    name, target = code(row.claim_name), code(row.target)
    match CopyPhase(row.phase):
        case CopyPhase.DONE:
            files = "1 file" if row.files_done == 1 else f"{row.files_done:,} files"
            said = f" is ready, and many pods can mount it: {files}, {size(row.bytes_done)}."
            return join(target, plain(said))
        case CopyPhase.DENIED | CopyPhase.EXPIRED | CopyPhase.WITHDRAWN as phase:
            said = f" {_UNBEGUN[phase]}. Nothing was changed."
            return join("The copy of ", name, plain(said))
        case _:
            return join(name, " was not copied completely to ", target, ". ", sentence(row.reason))


def _shown(row: Copy) -> tuple[object, ...]:
    """What the card shows."""
    return (
        row.phase, row.since, row.stage, row.obstacle, row.trouble, row.reason, row.files_total,
        row.files_done, row.bytes_done, row.bytes_per_second, row.stopped_by, row.target_uid,
    )  # fmt: skip
