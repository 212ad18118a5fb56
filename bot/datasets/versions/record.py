"""Writes the observed state of a survey to its row, and posts what people must know."""

from datetime import datetime

from sqlmodel import Session

from bot.datasets import finding
from bot.datasets.saying import Said
from bot.datasets.tables import CopyState, Version, VersionPhase
from bot.datasets.versions import notices
from bot.datasets.versions.decide import Decision, Surveyed, SurveyObserved, is_late
from bot.masking import hide_secrets
from bot.reconcile.decisions import Done, Fail, UpdateStatus
from bot.reconcile.frame import Findings
from bot.slack.markup import FormatCommand
from bot.slack.messages import refresh_cards

VersionFindings = Findings[Decision, SurveyObserved]


def record(
    session: Session, row_id: str, found: VersionFindings, format_command: FormatCommand
) -> None:
    """Updates the row, and the card if what it shows has changed."""
    version = session.get(Version, row_id)
    if version is None:
        return
    before = _shown(version)
    if found.observed.job is not None and not found.observed.is_taken and version.is_live:
        version.job_uid = found.observed.job.uid
    if isinstance(found.decision, Done):
        version.is_cleared = True
    elif version.is_live:  # and it was not ended in the meantime
        _go_on(session, version, found, format_command)
    version.trouble = ""
    version.is_late = is_late(version, found.now)
    session.add(version)
    if _shown(version) != before:
        refresh_cards(session, version.subject, live=version.is_live)


def _go_on(
    session: Session, version: Version, found: VersionFindings, format_command: FormatCommand
) -> None:
    match found.decision:
        case UpdateStatus(phase):
            _follow(version, phase, found)
        case Surveyed(said):
            _found(session, version, said, found)
            _tell(session, version, format_command, found.now)
        case Fail() as fail:
            _fail(version, fail, found, format_command)
            _tell(session, version, format_command, found.now)
        case _:
            pass


def _tell(session: Session, version: Version, format_command: FormatCommand, now: datetime) -> None:
    if not version.is_refresh:
        notices.ended(session, version, format_command, now)
    elif version.phase == VersionPhase.CHANGED:
        notices.changed(session, version, format_command, now)


def _follow(version: Version, phase: VersionPhase, found: VersionFindings) -> None:
    if phase is not VersionPhase(version.phase):
        version.phase, version.since = phase, found.now
        if phase is VersionPhase.LISTING and version.started_at is None:
            version.since = found.observed.started_at or found.now
        if phase in {VersionPhase.LISTING, VersionPhase.COPYING}:
            began = found.observed.started_at or found.now
            version.started_at = version.started_at or began
    said, version.obstacle = found.observed.said, found.observed.obstacle
    if said is not None and said.event == "progress":
        version.objects_seen, version.bytes_seen = said.files_done, said.bytes_done
        version.read_at = found.now
        if phase is VersionPhase.COPYING:
            version.objects, version.size_bytes = said.files_total, said.bytes_total
    if said is not None and said.event == "failed":
        version.obstacle = f"{hide_secrets(said.message)} Retrying."


def _found(session: Session, version: Version, said: Said, found: VersionFindings) -> None:
    """Records the result: a new version, unless another one has the same content."""
    if version.is_sweep:
        version.phase = VersionPhase.REMOVED
        version.objects, version.size_bytes = said.objects, said.bytes
        version.copied_files, version.copied_bytes = said.removed_files, said.removed_bytes
        _end(version, found)
        return
    same = _same(session, version, said.digest)
    is_new = VersionPhase.CHANGED if version.is_refresh else VersionPhase.READY
    version.phase = is_new if same is None else VersionPhase.UNCHANGED
    version.same_as = same.id if same is not None else None
    version.digest, version.objects, version.size_bytes = said.digest, said.objects, said.bytes
    version.objects_seen, version.bytes_seen = said.objects, said.bytes
    version.problems, version.keys = said.problems, list(said.keys)
    _copied(session, version, same or version, said)
    _end(version, found)


def _same(session: Session, version: Version, digest: str) -> Version | None:
    """The newest version with this content; selections say nothing about the whole source."""
    ready = finding.versions(session, version.dataset_id)
    compared = (each for each in ready if version.selected_from or not each.selected_from)
    return next((each for each in compared if each.digest == digest), None)


def _copied(session: Session, survey: Version, version: Version, said: Said) -> None:
    """Records the copy that a survey made, with the version that has this content."""
    if said.copy == "made" and version.copy_state != CopyState.MADE:
        version.copies, version.copy_state = survey.copies, CopyState.MADE
        version.copy_price = survey.copy_price
        version.copied_files, version.copied_bytes = said.copied_files, said.copied_bytes
        version.verified_by, version.verified_bytes = said.verified_by, said.verified_bytes
    elif said.copy == "not_needed" and version.copy_state in {CopyState.NONE, CopyState.WANTED}:
        version.copy_state = CopyState.NOT_NEEDED
    if version is not survey:
        is_needed = said.copy != "not_needed"
        survey.copy_state = CopyState.NONE if is_needed else CopyState.NOT_NEEDED
        session.add(version)
        refresh_cards(session, version.subject, live=False)


def _fail(
    version: Version, fail: Fail, found: VersionFindings, format_command: FormatCommand
) -> None:
    version.phase = VersionPhase.FAILED
    version.reason, version.unblock = hide_secrets(fail.reason), fail.unblock
    version.keys = list(fail.keys)
    if version.is_sweep:
        again = f"dataset remove {version.reference} --copy --yes"
        by_hand = f"An admin can delete {version.copies} in store {version.manifest_store}."
        version.unblock = f"Try again: `{format_command(again)}`." if version.name else by_hand
    _end(version, found)


def _end(version: Version, found: VersionFindings) -> None:
    """Ends the survey, at the Job's completion time if there is one."""
    job = found.observed.job
    version.started_at = version.started_at or found.observed.started_at
    version.ended_at = (job.status.completion_time if job is not None else None) or found.now
    version.since, version.obstacle = version.ended_at, ""


def _shown(version: Version) -> tuple[object, ...]:
    """The fields that the card of a version shows."""
    return (
        version.phase, version.since, version.obstacle, version.trouble, version.is_late,
        version.objects_seen, version.bytes_seen, version.ended_at, version.reason,
    )  # fmt: skip
