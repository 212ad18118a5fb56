"""Builds the cards of pushes. Only the renderer reads rows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.clock import Clock
from bot.config import Settings
from bot.datasets.clusters import shown
from bot.datasets.drops.tables import Drop, DroppedFile, DropPhase
from bot.datasets.tables import PUSH, Push, PushPhase, Version
from bot.datasets.wording import capacity, name_of, size, verified
from bot.durations import format_duration
from bot.slack.card import Button, Card, Confirm, Progress, Tone
from bot.slack.markup import Markup, code, join, plain, sentence, when

STOP, GRANT = "dataset.push_stop", "dataset.put_grant"
_TONES = {
    PushPhase.ASKED: Tone.WAITING,
    PushPhase.STARTING: Tone.WAITING,
    PushPhase.COPYING: Tone.WORKING,
    PushPhase.PUSHED: Tone.GOOD,
    PushPhase.FAILED: Tone.BAD,
}
_MOST_KEYS = 10


class PushRenderer:
    """Renders pushes."""

    kind = PUSH

    def __init__(self, clock: Clock, settings: Callable[[], Settings]) -> None:
        self._clock = clock
        self._settings = settings

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The push's card; the same in every channel."""
        del channel
        push = session.get(Push, subject_id)
        if push is None:
            return None
        version = session.get(Version, push.version_id) if push.version_id else None
        drop = session.get(Drop, push.id) if push.is_drop else None
        around = PushContext(
            person=name_of(session, push.workspace_id, push.person),
            version=version.reference if version else "",
            cluster=shown(self._settings().datasets, push.cluster),
        )
        return push_card(push, around, self._clock.now(), drop)


@dataclass(frozen=True)
class PushContext:
    """What a push's card shows besides its row.

    `person` is the name of its requester, `version` the version recorded from it, or empty.
    `cluster` is that of its Job, if there are several.
    """

    person: str
    version: str = ""
    cluster: str = ""


def push_card(push: Push, around: PushContext, now: datetime, drop: Drop | None = None) -> Card:
    """The card of a push at this moment; `drop` are the files of its message, until it is over."""
    phase = PushPhase(push.phase)
    is_hindered = bool(push.trouble or push.unrecorded)
    is_hindered |= push.is_live and bool(push.obstacle or push.is_late)
    is_hindered |= drop is not None and push.is_live and bool(drop.trouble)
    return Card(
        title=f"{push.source} to {push.target}",
        state=_state_of_drop(push, drop) or _state(push, phase, now),
        tone=Tone.WARNING if is_hindered and phase is not PushPhase.FAILED else _TONES[phase],
        lines=(*_lines(push, around.version), *_of_drop(push, drop)),
        facts=tuple(_facts(push, around)),
        progress=_progress(push) if phase is PushPhase.COPYING and _is_counted(push) else None,
        buttons=tuple(_buttons(push)),
    )


def _state_of_drop(push: Push, drop: Drop | None) -> str:
    """What is done with the files of a message; empty while the push itself says it."""
    if drop is None or not push.is_live or push.stopped_by is not None:
        return ""
    match DropPhase(drop.phase):
        case DropPhase.FINDING:
            return "Looking at the files in Slack"
        case DropPhase.READING:
            return "Reading the files in Slack"
        case _:
            is_waiting = push.phase == PushPhase.COPYING and not _is_counted(push)
            return "Copying from Slack" if is_waiting else ""


def _state(push: Push, phase: PushPhase, now: datetime) -> str:
    if push.is_live and push.stopped_by is not None:
        return "Stopping"
    match phase:
        case PushPhase.ASKED:
            return "Starting" if push.is_upload else "Waiting for the volume"
        case PushPhase.STARTING:
            return "Starting"
        case PushPhase.COPYING:
            if push.stage == "waiting":
                return "Waiting for files"
            return f"Pushing for {format_duration(max(now - push.since, timedelta()))}"
        case PushPhase.PUSHED:
            return "Pushed"
        case PushPhase.FAILED:
            return "Not pushed"


def _is_counted(push: Push) -> bool:
    """Whether its worker has reported files."""
    return push.stage not in {"", "waiting"}


def _progress(push: Push) -> Progress:
    if push.stage == "listing" or push.files_total is None:
        found = push.files_total or 0
        return Progress(found, None, f"files, {size(push.bytes_total or 0)} found so far")
    unit = f"files, {size(push.bytes_done)} of {size(push.bytes_total or 0)}"
    return Progress(push.files_done, push.files_total, unit)


def _lines(push: Push, version: str) -> Iterator[Markup]:
    for line in (push.reason, push.unblock, push.obstacle):
        if line:
            yield sentence(line)
    if push.keys:
        shown = (join(", " if number else "", code(key))
                 for number, key in enumerate(push.keys[:_MOST_KEYS]))  # fmt: skip
        yield join("First files: ", *shown)
    if push.is_late:
        yield plain("Late: its pod should have started by now.")
    if push.is_upload and push.is_live and not push.is_drop:
        yield plain(_HOW)
    if version:
        yield join("It is recorded as ", code(version), ", which has its own card.")
    if push.unrecorded:
        yield sentence(f"No version of {push.dataset} was recorded. {push.unrecorded}")
    yield from _leftovers(push)


_HOW = (
    "The requester pushes a folder of their computer with the command that the button shows to them"
    " alone. The bot compares every file that arrives."
)


def _of_drop(push: Push, drop: Drop | None) -> Iterator[Markup]:
    """The files of a message, those with other names in the store, and what hinders them."""
    if drop is None:
        return
    found = drop.found
    if found:
        more = len(found) - _MOST_KEYS
        names = ", ".join(each.key for each in found[:_MOST_KEYS])
        yield plain(f"Files: {names}{f' and {more:,} more' if more > 0 else ''}")
    yield from _renamed(found)
    if drop.trouble and push.is_live:
        yield sentence(f"{drop.trouble} Retrying.")


def _renamed(found: Sequence[DroppedFile]) -> Iterator[Markup]:
    others = [each for each in found if each.key != each.name][:_MOST_KEYS]
    if others:
        names = ", ".join(f"{each.name} as {each.key}" for each in others)
        yield plain(f"Stored under another name: {names}")


def _leftovers(push: Push) -> Iterator[Markup]:
    if push.retained:
        yield plain(
            f"PersistentVolume {push.retained}, which was created to read the snapshot, stays: its"
            " reclaim policy is Retain. A platform admin can delete it."
        )
    if push.trouble:
        yield sentence(f"{push.trouble} Retrying.")


def _facts(push: Push, around: PushContext) -> Iterator[tuple[str, Markup]]:
    yield "From", _origin(push, around.person)
    if push.snapshot_at is not None:
        of = f"of PVC {push.claim_name} as of " if push.claim_name else "as of "
        yield "Snapshot", join(of, when(push.snapshot_at))
    if not push.is_upload:
        yield "Volume", plain(f"{capacity(push.capacity_bytes)} on {push.storage_class}")
    yield "To", code(push.target)
    yield "Store", code(push.store)
    if around.cluster:
        yield "Cluster", plain(around.cluster)
    yield "Requested by", plain(around.person)
    yield "Requested", when(push.asked_at)
    if push.phase == PushPhase.COPYING:
        yield from _speed(push)
    if push.phase == PushPhase.PUSHED:
        yield from _result(push)
    if push.ended_at is not None and push.started_at is not None:
        yield "Duration", plain(format_duration(push.ended_at - push.started_at))


def _origin(push: Push, person: str) -> Markup:
    if push.is_drop:
        return plain("files of a message in this channel")
    if push.is_upload:
        return plain(f"the computer of {person}")
    return code(f"{push.claim_namespace}/{push.source}")


def _speed(push: Push) -> Iterator[tuple[str, Markup]]:
    rate, left = push.bytes_per_second, (push.bytes_total or 0) - push.bytes_done
    if push.stage == "verifying":
        yield "Stage", plain("all files are copied; the target is being listed again")
    elif rate and push.stage == "copying":
        yield "Rate", plain(f"{size(round(rate))}/s")
        yield "Left", plain(f"about {format_duration(timedelta(seconds=left / rate))}")


def _result(push: Push) -> Iterator[tuple[str, Markup]]:
    yield "Files", plain(f"{push.files_done:,}")
    yield "Size", plain(f"{size(push.bytes_done)} ({push.bytes_done:,} bytes)")
    there = push.files_done - push.copied_files
    if there > 0:
        yield "Already there", plain(f"{there:,} of them, with the same content")
    compared = verified(push.verified_by, push.verified_bytes, push.bytes_done)
    yield "Compared", plain(compared or "all")
    if push.links:
        yield "Skipped", plain(f"{push.links:,} symbolic links")
    if push.others:
        yield "Other objects", plain(f"{push.others:,} that are not files of the folder")


def _buttons(push: Push) -> Iterator[Button]:
    if push.takes_files and not push.is_drop:
        yield Button(GRANT, "Get the command", push.id, "primary")
    if push.is_live and push.stopped_by is None:
        yield Button(STOP, "Stop", push.id, "danger", _STOP)


_STOP = Confirm(
    "Stop this push?",
    "Objects that are already in the store stay. No version is recorded.",
    "Stop it",
)
