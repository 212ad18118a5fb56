"""What is said of things that caches left over: once a day, to those who look after the cluster."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.config import Settings
from bot.datasets.caches.idle import Idle
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


@dataclass(frozen=True)
class Left:
    """What was found in a cluster: objects that no row needs, and PVCs that nobody mounts."""

    cluster: str
    orphans: Sequence[Orphan]
    idle: Sequence[Idle] = ()


def report(session: Session, settings: Settings, left: Left, now: datetime) -> None:
    """Tells the admins' channel, or else the approvers', what is left over, if anything is."""
    channel = settings.slack.admin_channel or settings.approvals.channel
    if not (left.orphans or left.idle) or channel is None:
        return
    subject = Subject(settings.workspace, ORPHAN, left.cluster)
    shown = left.orphans[:_MOST]
    lines = []
    if shown:
        lines.append(plain(f"{heading(left.orphans)} Nothing is removed unless somebody says so."))
        lines += [described(each, now) for each in shown]
    lines += _unused(left.idle, settings, now)
    buttons = [remove_button(each) for each in shown if each.kind != _VOLUME]
    note = Note(f"report-{now:%Y-%m-%d}", lines, in_thread=False, buttons=buttons)
    say_once(session, subject, channel, note, now)


def _unused(idle: Sequence[Idle], settings: Settings, now: datetime) -> Iterator[Markup]:
    """PVCs of teams that nobody mounts, the largest first; people remove them, or nobody does."""
    if not idle or settings.datasets is None or settings.datasets.idle_claims == "off":
        return
    long = format_duration(settings.datasets.idle_claims)
    whole = capacity(sum(each.size_bytes or 0 for each in idle))
    prices = [each.monthly_price for each in idle if each.monthly_price is not None]
    cost = f", {sum(prices):,.2f} a month as far as prices are known" if prices else ""
    count = f"{len(idle)} PVC{' of a team was' if len(idle) == 1 else 's of teams were'}"
    yield plain(f"{count} not seen mounted for {long}, {whole} in all{cost}. The bot removes none.")
    for each in idle[:_MOST]:
        yield _unused_claim(each, now)
    if len(idle) > _MOST:
        yield plain(f"And {len(idle) - _MOST} more, which are smaller.")


def _unused_claim(idle: Idle, now: datetime) -> Markup:
    size = "size unknown" if idle.size_bytes is None else capacity(idle.size_bytes)
    on = f" on {idle.storage_class}" if idle.storage_class else ""
    cost = f", {idle.monthly_price:,.2f} a month" if idle.monthly_price is not None else ""
    ago = format_duration(max(now - idle.since, timedelta()))
    used = (
        f"last mounted {ago} ago"
        if idle.was_mounted
        else f"not mounted in the {ago} since it was first seen"
    )
    place = code(f"{idle.namespace}/{idle.name}")
    return join("PVC ", place, plain(f" of {idle.teams}: {size}{on}{cost}, {used}."))


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
