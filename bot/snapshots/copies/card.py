"""Cards of copies: the question before one, and its progress. Only the renderer reads rows."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.approvals import Approvals
from bot.approvals.deciding import RequestSubject, RequestView, deciding
from bot.clock import Clock
from bot.config import Settings
from bot.datasets.wording import size
from bot.durations import format_duration
from bot.people.people import name_of
from bot.slack.card import Button, Card, Confirm, Progress, Reply, Tone
from bot.slack.markup import (
    FormatCommand,
    Markup,
    channel,
    code,
    join,
    person,
    plain,
    sentence,
    when,
)
from bot.snapshots.copies.plan import CopyPlan, CopyRequest, written
from bot.snapshots.copies.record import advice
from bot.snapshots.copies.tables import COPY, Copy, CopyPhase, CopySource
from bot.volumes.wording import capacity, money

GO, STOP = "pvc.copy", "pvc.copy-stop"
_STATES = {
    CopyPhase.ASKED: ("Waiting for approval", Tone.WAITING),
    CopyPhase.PREPARING: ("Preparing", Tone.WORKING),
    CopyPhase.STARTING: ("Starting", Tone.WAITING),
    CopyPhase.COPYING: ("Copying", Tone.WORKING),
    CopyPhase.DONE: ("Copied", Tone.GOOD),
    CopyPhase.FAILED: ("Not copied", Tone.BAD),
    CopyPhase.DENIED: ("Denied", Tone.BAD),
    CopyPhase.EXPIRED: ("Expired", Tone.STOPPED),
    CopyPhase.WITHDRAWN: ("Withdrawn", Tone.STOPPED),
}
_READS = {
    CopySource.IDLE: "the PVC itself, which nothing may mount meanwhile",
    CopySource.LIVE: "the PVC itself while pods change it: files may not fit each other",
    CopySource.SNAPSHOT: "a snapshot of it, which is deleted at the end",
}
_KEPT = (
    "Kept: owners, modes, times, symbolic and hard links, holes, extended attributes and POSIX"
    " ACLs. Left out: sockets, pipes and devices."
)
_COUNTS = {
    "folders": ("folder", "folders"),
    "links": ("symbolic link", "symbolic links"),
    "hardlinks": ("hard link", "hard links"),
    "sparse": ("file with holes", "files with holes"),
    "attributes": ("extended attribute", "extended attributes"),
}
_LOST = {
    "special": "Left out: {} sockets, pipes or devices.",
    "lost_attributes": "Extended attributes that the new volume cannot hold: {}.",
}


def question(asked: CopyRequest, plan: CopyPlan, format_command: FormatCommand) -> Reply:
    """What a copy does and costs, with the button that requests it."""
    label = "Request it" if plan.needs_approval else "Copy it"
    facts = (
        ("New PVC", plain(f"{asked.target}, ReadWriteMany")),
        ("Class", plain(f"{plan.claim.spec.storage_class_name or 'none'} → {plan.storage_class}")),
        ("Size", plain(f"{capacity(plan.claim.size_bytes or 0)} → {capacity(plan.size_bytes)}")),
        ("Reads", plain(_READS[asked.reads])),
        ("Monthly cost", plain(_costs(plan.cost, plan.source_cost))),
    )
    return Reply(
        card=Card(
            f"Copy {asked.claim} to {asked.target}?",
            lines=tuple(_foreseen(asked, plan, format_command)),
            facts=facts,
            buttons=(Button(GO, label, written(asked), "primary"),),
        ),
        is_question=True,
    )


def _foreseen(
    asked: CopyRequest, plan: CopyPlan, format_command: FormatCommand
) -> Iterator[Markup]:
    name, target = code(asked.claim), code(asked.target)
    yield join("A Job copies all files of ", name, " to ", target,
               ", which many pods can mount, and reads each back. ", name, " stays.")  # fmt: skip
    yield plain(_KEPT)
    if plan.resumed_uid is not None:
        yield join("It goes on with ", target, ", where an earlier copy stopped.")
    if plan.can_clone:
        words = f"snapshot clone {asked.claim} --as {asked.target}"
        yield join("Its own class makes such PVCs. If its driver can clone, this makes the same"
                   " without a Job, often in seconds: ", code(format_command(words)))  # fmt: skip
    if plan.needs_approval:
        yield plain("An approver other than you has to approve it.")


def copy_card(
    row: Copy, asker: str, deciding: RequestView, shown_in: str, now: datetime,
    format_command: FormatCommand,
) -> Card:  # fmt: skip
    """The card of a copy; in the channel of the request it can be stopped."""
    phase = CopyPhase(row.phase)
    state, tone = _STATES[phase]
    if row.is_live and row.stopped_by is not None:
        state = "Stopping"
    elif phase is CopyPhase.COPYING:
        state = f"Copying for {format_duration(max(now - row.since, timedelta()))}"
    is_hindered = row.is_live and bool(row.trouble or row.obstacle)
    own = () if row.channel != shown_in else tuple(_buttons(row))
    return Card(
        title=f"Copy PVC {row.claim_name} to {row.target}",
        state=state,
        tone=Tone.WARNING if is_hindered else tone,
        lines=tuple(_lines(row, deciding, format_command)),
        facts=tuple(_facts(row, asker)),
        progress=_progress(row) if phase is CopyPhase.COPYING and row.stage else None,
        buttons=(*deciding.buttons, *own),
    )


def waiting(rows: Sequence[Copy]) -> tuple[Markup, ...]:
    """Lines of the copies that wait for a decision."""
    return tuple(
        join(code(row.claim_name), plain(f" of {row.team}: copy to {row.target},"
             f" {capacity(row.size_bytes)}, requested "), when(row.asked_at))
        for row in rows
    )  # fmt: skip


def _buttons(row: Copy) -> Iterator[Button]:
    if row.phase == CopyPhase.ASKED:
        yield Button(STOP, "Withdraw", row.id)
    elif row.is_live and row.stopped_by is None:
        yield Button(STOP, "Stop", row.id, "danger", _CONFIRM)


_CONFIRM = Confirm(
    "Stop this copy?",
    "The new PVC stays with what was copied. The same command goes on from there.",
    "Stop it",
)


def _lines(row: Copy, deciding: RequestView, format_command: FormatCommand) -> Iterator[Markup]:
    yield from deciding.lines
    if deciding.deciders:
        yield join(" or ".join(person(each) for each in deciding.deciders), " can decide.")
    for line in (row.reason, row.obstacle):
        if line:
            yield sentence(line)
    if row.trouble and row.is_live:
        yield sentence(f"{row.trouble} Retrying.")
    if row.phase == CopyPhase.DONE:
        yield from _remarks(row)
    if not row.is_live:
        yield from advice(row, format_command)


def _remarks(row: Copy) -> Iterator[Markup]:
    """What is not as it was in the source."""
    for key, said in _LOST.items():
        if row.counts.get(key):
            yield plain(said.format(f"{row.counts[key]:,}"))
    if row.changed:
        yield plain(f"Files that changed until the end, and may be incomplete: {row.changed:,}.")
    if row.others:
        yield plain(f"Only in {row.target}, and kept: {row.others:,} files or folders.")


def _progress(row: Copy) -> Progress:
    if row.stage == "listing" or row.files_total is None:
        found = row.files_total or 0
        return Progress(found, None, f"files, {size(row.bytes_total or 0)} found so far")
    unit = f"files, {size(row.bytes_done)} of {size(row.bytes_total or 0)}"
    return Progress(row.files_done, row.files_total, unit)


def _facts(row: Copy, asker: str) -> Iterator[tuple[str, Markup]]:
    yield "From", plain(f"{row.namespace}/{row.claim_name}, {row.source_class or 'no class'}")
    yield "To", plain(f"{row.target}, {row.storage_class}, {capacity(row.size_bytes)}, RWX")
    yield "Reads", plain(_READS[CopySource(row.reads)])
    yield "Monthly cost", plain(_costs(row.cost, row.source_cost))
    yield "Requested by", join(plain(asker), " in ", channel(row.channel))
    if row.phase == CopyPhase.COPYING:
        yield from _speed(row)
    if row.phase == CopyPhase.DONE:
        yield from _result(row)
    if row.stopped_by is not None:
        what = "Withdrawn by" if row.phase == CopyPhase.WITHDRAWN else "Stopped by"
        yield what, person(row.stopped_by)
    if row.ended_at is not None:
        yield "Ended", when(row.ended_at)


def _speed(row: Copy) -> Iterator[tuple[str, Markup]]:
    rate, left = row.bytes_per_second, (row.bytes_total or 0) - row.bytes_done
    if row.stage == "verifying":
        yield "Stage", plain("all files are copied; the source is being looked through again")
    elif rate and row.stage == "copying":
        yield "Rate", plain(f"{size(round(rate))}/s")
        yield "Left", plain(f"about {format_duration(timedelta(seconds=left / rate))}")


def _result(row: Copy) -> Iterator[tuple[str, Markup]]:
    yield "Files", plain(f"{row.files_done:,}, {size(row.bytes_done)} ({row.bytes_done:,} bytes)")
    kept = [(row.counts.get(key, 0), said) for key, said in _COUNTS.items()]
    counts = [f"{count:,} {said[count > 1]}" for count, said in kept if count]
    if counts:
        yield "Kept", plain(", ".join(counts))
    yield "Read back", plain(f"{row.copied_files:,} files, by SHA-256, in the last attempt")
    if row.ended_at is not None and row.started_at is not None:
        yield "Duration", plain(format_duration(row.ended_at - row.started_at))


def _costs(cost: float | None, source: float | None) -> str:
    """What both cost a month until the old one is deleted."""
    if cost is None:
        return "unknown: its class has no price"
    old = "an unknown amount" if source is None else money(source)
    return f"{money(cost)}, besides {old} for the old PVC until that is deleted"


class CopyRenderer:
    """Renders copies; the buttons to decide are only on the approvers' card."""

    kind = COPY

    def __init__(
        self, clock: Clock, settings: Callable[[], Settings], approvals: Approvals,
        format_command: FormatCommand,
    ) -> None:  # fmt: skip
        self._clock = clock
        self._settings = settings
        self._approvals = approvals
        self._format_command = format_command

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The card of a copy in this channel; None if there is no such copy."""
        row = session.get(Copy, subject_id)
        if row is None:
            return None
        asker = name_of(session, row.workspace_id, row.person)
        asked = RequestSubject(COPY, row.id, row.channel)
        found = deciding(session, self._approvals, self._settings(), asked, channel)
        now = self._clock.now()
        return copy_card(row, asker, found, channel, now, self._format_command)
