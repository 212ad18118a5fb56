"""What is said of things that caches left over: once a day, to those who look after the cluster."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.config import Settings
from bot.datasets.caches.tables import ORPHAN, Orphan
from bot.datasets.wording import capacity
from bot.durations import format_duration
from bot.slack.card import Button, Confirm
from bot.slack.markup import Markup, code, join, plain, sentence
from bot.slack.messages import Note, Subject, say_once

REMOVE = "dataset.remove_orphan"
_MOST = 10
_VOLUME = "PersistentVolume"
_DELETE = """kubectl patch pv {} -p '{{"spec":{{"persistentVolumeReclaimPolicy":"Delete"}}}}'"""


def report(session: Session, settings: Settings, left: Sequence[Orphan], now: datetime) -> None:
    """Tells the admins' channel, or else the approvers', what is left over, if anything is."""
    channel = settings.slack.admin_channel or settings.approvals.channel
    if not left or channel is None:
        return
    subject = Subject(settings.workspace, ORPHAN, left[0].cluster)
    lines = [plain(f"{heading(left)} Nothing is removed unless somebody says so.")]
    lines += [described(each, now) for each in left[:_MOST]]
    buttons = [remove_button(each) for each in left[:_MOST] if each.kind != _VOLUME]
    note = Note(f"report-{now:%Y-%m-%d}", lines, in_thread=False, buttons=buttons)
    say_once(session, subject, channel, note, now)


def heading(left: Sequence[Orphan]) -> str:
    """How many things are left over, and how large they are."""
    known = sum(each.size_bytes or 0 for each in left)
    count = f"{len(left)} object{'' if len(left) == 1 else 's'}"
    verb = "is" if len(left) == 1 else "are"
    return f"{count} of datasets that no row needs {verb} left over, {capacity(known)} in all."


def described(orphan: Orphan, now: datetime) -> Markup:
    """What it is, how large and old, and how it goes."""
    place = f"{orphan.namespace}/{orphan.name}" if orphan.namespace else orphan.name
    facts = []
    if orphan.size_bytes is not None:
        on = f" on {orphan.storage_class}" if orphan.storage_class else ""
        facts.append(f"{capacity(orphan.size_bytes)}{on}")
    if orphan.made_at is not None:
        facts.append(f"made {format_duration(max(now - orphan.made_at, timedelta()))} ago")
    said = join(plain(f"{orphan.kind} "), code(place), plain(f": {', '.join(facts) or 'unknown'}."))
    if orphan.kind == _VOLUME:
        said = join(said, " Its reclaimPolicy keeps it; this lets its driver delete it: ",
                    code(_DELETE.format(orphan.name)))  # fmt: skip
    return join(said, " ", sentence(orphan.trouble)) if orphan.trouble else said


def remove_button(orphan: Orphan) -> Button:
    """What removes it, after a question."""
    text = (
        f"{orphan.kind} {orphan.namespace}/{orphan.name} is deleted with all that is on it."
        " This cannot be undone."
    )
    confirm = Confirm(f"Remove {orphan.name}?"[:100], text, "Remove")
    return Button(REMOVE, f"Remove {orphan.name}", orphan.id, style="danger", confirm=confirm)
