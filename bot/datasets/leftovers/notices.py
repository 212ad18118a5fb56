"""The daily report of objects that caches left over, for the platform admins."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.config import Settings
from bot.datasets.caches.tables import ORPHAN, Orphan
from bot.datasets.leftovers.idle import Idle
from bot.datasets.wording import capacity
from bot.durations import format_duration
from bot.slack.card import Button, Confirm
from bot.slack.markup import Markup, code, join, plain, sentence
from bot.slack.messages import Subject, ThreadMessage, post_once

REMOVE = "dataset.remove_orphan"
_MOST = 10
_VOLUME = "PersistentVolume"
_IN_CLUSTER = frozenset({"Job", "PersistentVolumeClaim", _VOLUME})
_DELETE = """kubectl patch pv {} -p '{{"spec":{{"persistentVolumeReclaimPolicy":"Delete"}}}}'"""


@dataclass(frozen=True)
class Left:
    """What was found in a cluster: objects that no row needs, and PVCs that no pod mounts.

    `unasked` has, by kind of object, why a cloud could not be queried.
    """

    cluster: str
    orphans: Sequence[Orphan]
    idle: Sequence[Idle] = ()
    unasked: Mapping[str, str] = field(default_factory=dict)


def report(session: Session, settings: Settings, left: Left, now: datetime) -> None:
    """Posts leftovers, if there are any, to the admins' channel, or else to the approvers'."""
    channel = settings.slack.admin_channel or settings.approvals.channel
    if not (left.orphans or left.idle or left.unasked) or channel is None:
        return
    subject = Subject(settings.workspace, ORPHAN, left.cluster)
    shown = left.orphans[:_MOST]
    named = settings.datasets.named(left.cluster) if settings.datasets is not None else ""
    lines = [plain(f"Leftovers of cluster {named}:")] if named else []
    if shown:
        whole = " ".join(headings(left.orphans))
        lines.append(plain(f"{whole} Nothing is deleted without confirmation."))
        lines += [described(each, now) for each in shown]
    lines += [sentence(why) for why in left.unasked.values()]
    lines += _unused(left.idle, settings, now)
    buttons = [remove_button(each) for each in shown if is_removable(each)]
    note = ThreadMessage(f"report-{now:%Y-%m-%d}", lines, in_thread=False, buttons=buttons)
    post_once(session, subject, channel, note, now)


def _unused(idle: Sequence[Idle], settings: Settings, now: datetime) -> Iterator[Markup]:
    """PVCs of teams that no pod mounts, the largest first; only people delete them."""
    if not idle or settings.datasets is None or settings.datasets.idle_claims == "off":
        return
    long = format_duration(settings.datasets.idle_claims)
    whole = capacity(sum(each.size_bytes or 0 for each in idle))
    prices = [each.monthly_price for each in idle if each.monthly_price is not None]
    cost = f", {sum(prices):,.2f} a month as far as prices are known" if prices else ""
    count = f"{len(idle)} PVC{' of a team has' if len(idle) == 1 else 's of teams have'}"
    yield plain(
        f"{count} not been seen mounted for {long}, {whole} in total{cost}. The bot deletes none."
    )
    for each in idle[:_MOST]:
        yield _unused_claim(each, now)
    if len(idle) > _MOST:
        yield plain(f"And {len(idle) - _MOST} smaller ones.")


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


def headings(left: Sequence[Orphan]) -> Iterator[str]:
    """How many objects are left over in the cluster and outside it, and their total size."""
    inside = [each for each in left if each.kind in _IN_CLUSTER]
    outside = [each for each in left if each.kind not in _IN_CLUSTER]
    if inside:
        one = len(inside) == 1
        count = f"{len(inside)} object{'' if one else 's'}"
        verb = "is" if one else "are"
        yield f"{count} of datasets {verb} left over and not needed, {_whole(inside)} in total."
    if outside:
        one = len(outside) == 1
        count = f"{len(outside)} volume{'' if one else 's'} outside the cluster"
        verb = "belongs" if one else "belong"
        prices = [each.monthly_price for each in outside if each.monthly_price is not None]
        cost = f", {sum(prices):,.2f} a month as far as prices are known" if prices else ""
        yield f"{count} no longer {verb} to anything in it, {_whole(outside)} in total{cost}."


def _whole(left: Sequence[Orphan]) -> str:
    return capacity(sum(each.size_bytes or 0 for each in left))


def described(orphan: Orphan, now: datetime, cluster: str = "") -> Markup:
    """One line about a leftover object: kind, cluster, size, age, and how to delete it."""
    place = f"{orphan.namespace}/{orphan.name}" if orphan.namespace else orphan.name
    facts = ", ".join(_facts(orphan, now)) or "unknown"
    of = f" of cluster {cluster}" if cluster else ""
    said = join(plain(f"{orphan.kind} "), code(place), plain(f"{of}: {facts}."))
    if orphan.kind == _VOLUME:
        said = join(said, " Its reclaimPolicy keeps it. To let its driver delete it: ",
                    code(_DELETE.format(orphan.name)))  # fmt: skip
    if orphan.why:
        said = join(said, " ", sentence(orphan.why))
    if orphan.command:
        said = join(said, " The bot does not delete it. To delete it permanently: ",
                    code(orphan.command))  # fmt: skip
    return join(said, " ", sentence(orphan.trouble)) if orphan.trouble else said


def _facts(orphan: Orphan, now: datetime) -> Iterator[str]:
    if orphan.size_bytes is not None:
        on = f" on {orphan.storage_class}" if orphan.storage_class else ""
        yield f"{capacity(orphan.size_bytes)}{on}"
    if orphan.monthly_price is not None:
        yield f"{orphan.monthly_price:,.2f} a month"
    if orphan.made_at is not None:
        yield f"created {format_duration(max(now - orphan.made_at, timedelta()))} ago"


def is_removable(orphan: Orphan) -> bool:
    """Whether the bot can delete it; volumes and what has a command are for admins."""
    return orphan.kind != _VOLUME and not orphan.command


def remove_button(orphan: Orphan) -> Button:
    """The button that deletes it, after a confirmation."""
    text = (
        f"Deletes {orphan.kind} {orphan.namespace}/{orphan.name} and everything on it."
        " This cannot be undone."
    )
    confirm = Confirm(f"Remove {orphan.name}?"[:100], text, "Remove")
    return Button(REMOVE, f"Remove {orphan.name}", orphan.id, style="danger", confirm=confirm)
