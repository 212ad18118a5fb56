"""/snapshot: take snapshots of PVCs, keep them, restore them, and clone PVCs."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal

from bot.commands.context import Context
from bot.errors import UsageError
from bot.leftovers.removals.tables import RemovalKind
from bot.people.access import Caller, Right
from bot.slack.card import Reply
from bot.slack.grammar.declarations import CLUSTER, TEAM, Part, Verb
from bot.slack.grammar.form_plans import FormPlan
from bot.slack.grammar.parameters import Duration, Pattern, TeamName, Text
from bot.slack.markup import Markup
from bot.snapshots.restores import service as restoring
from bot.snapshots.reverts.replies import offered
from bot.snapshots.snapshots import replies
from bot.snapshots.snapshots.card import DELETE, RESTORE
from bot.snapshots.snapshots.service import Pinning, SnapshotRequest
from bot.snapshots.tables import Snapshot
from handlers.dataset.caches import ClassName
from handlers.dataset.caches import VolumeSize as AnySize
from handlers.removals import foretold, removed

OFF: Final = "off"
_LONGEST_PIN = timedelta(days=365)


class ClaimName(Pattern):
    """A PVC of the team."""

    word = "PVC"
    rule = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
    form = "the name of a PVC such as `results`"
    example = "results"


class SnapshotName(Pattern):
    """A snapshot, or the newest one of a PVC."""

    word = "SNAPSHOT"
    rule = ClaimName.rule
    form = "the name of a snapshot, or of a PVC for its newest one"
    example = "results-3f9c01b22a"


class NewClaimName(Pattern):
    """The name of a new PVC."""

    word = "NAME"
    rule = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
    form = "a name of at most 63 lower-case letters, digits and hyphens"
    example = "results-again"


class VolumeSize(AnySize):
    """The size of a new volume."""

    form = "a size with its unit such as `300Gi` or `2Ti`"


class KeepTime:
    """How long a snapshot is kept."""

    word = "TIME"
    form = f"a duration such as `7d` or `30d`, or `{OFF}` to keep it until it is deleted"
    example = "30d"

    def read(self, text: str) -> timedelta | Literal["off"]:
        """The duration, or `off` for none."""
        if text == OFF:
            return OFF
        return Duration(minimum=timedelta(hours=1), maximum=timedelta(days=3650)).read(text)


@dataclass(frozen=True)
class Restoring:
    """The options of `/snapshot restore`."""

    snapshot: str
    name: str | None = None
    size_bytes: int | None = None
    storage_class: str | None = None
    is_read_only: bool = False
    is_in_place: bool = False
    reason: str = ""
    to: str | None = None


@dataclass(frozen=True)
class Cloning:
    """The options of `/snapshot clone`."""

    claim: str
    name: str
    size_bytes: int | None = None
    storage_class: str | None = None
    cluster: str | None = None


snapshot = Part("snapshot")


def _foresee_snapshot(ctx: Context, _verb: Verb, asked: SnapshotRequest) -> Sequence[Markup]:
    ctx.team()
    row = ctx.snapshots.snapshots.foresee(ctx.session, ctx.caller, asked, ctx.now)
    return replies.foreseen_snapshot(row)


def _of_new_claims(_ctx: Context, texts: Mapping[str, str]) -> Collection[str]:
    """What a new PVC can have, or why the PVC itself is reverted."""
    is_in_place = bool(texts.get("is_in_place"))
    new = {"name", "size_bytes", "storage_class", "is_read_only", "to"}
    return {"reason"} if is_in_place else new


def _foresee_restore(ctx: Context, _verb: Verb, asked: Restoring) -> Sequence[Markup]:
    row = _find(ctx, asked.snapshot)
    if asked.is_in_place:
        offer = ctx.snapshots.reverts.offer(ctx.session, ctx.caller, row, asked.reason)
        return offered(offer, ctx.now).lines
    target = _member(ctx, asked.to) if asked.to else None
    service, request = ctx.snapshots.restores, _request(asked)
    restored = service.foresee(ctx.session, ctx.caller, row, request, ctx.now, target)
    return replies.foreseen_restore(restored, is_named=asked.name is not None)


def _foresee_clone(ctx: Context, _verb: Verb, asked: Cloning) -> Sequence[Markup]:
    ctx.team()
    request = restoring.RestoreRequest(asked.name, asked.size_bytes, asked.storage_class)
    row = ctx.snapshots.restores.foresee_clone(
        ctx.session, ctx.caller, asked.claim, request, ctx.now, asked.cluster
    )
    return replies.foreseen_restore(row, is_named=True)


@snapshot.verb(
    "create",
    "Take a snapshot of a PVC",
    right=Right.SNAPSHOT_CREATE,
    mutates=True,
    repeats=True,
    into=SnapshotRequest,
    examples=(
        "create imagenet",
        'create imagenet --note "before cleaning" --keep 30d',
    ),
    team=TEAM,
    cluster=CLUSTER,
    form=FormPlan(fields=("note", "keep"), watched=("claim", "keep"), foresee=_foresee_snapshot),
)
@snapshot.argument("claim", ClaimName(), help="PVC of the team")
@snapshot.option("--note", default="", help="What the snapshot shows")
@snapshot.option("--keep", KeepTime(), help="How long to keep it, or off")
def create(ctx: Context, asked: SnapshotRequest) -> Reply:
    """Answers with the snapshot's name; its card shows the progress."""
    ctx.team()
    return replies.taking(
        ctx.snapshots.snapshots.take(ctx.session, ctx.caller, asked, ctx.now), ctx.format_command
    )


@snapshot.verb(
    "list",
    "The team's snapshots, or those of a PVC",
    right=Right.SNAPSHOT_READ,
    examples=("list", "list imagenet"),
    team=TEAM,
)
@snapshot.argument("claim", ClaimName(), default=None, help="PVC (default: all)")
def list_snapshots(ctx: Context, claim: str | None) -> Reply:
    """Answers with a table; snapshots created outside Quartermaster are listed below it."""
    name, _ = ctx.team()
    rows = ctx.snapshots.snapshots.listing(ctx.session, name, claim)
    foreign = ctx.snapshots.snapshots.foreign(ctx.session, name, claim)
    others = ctx.snapshots.schedules.foreign(name)
    return replies.listed(claim or name, rows, foreign, others, ctx.format_command)


@snapshot.verb(
    "show",
    "Show a snapshot: its PVC, its time and what needs it",
    right=Right.SNAPSHOT_READ,
    examples=("show imagenet",),
    team=TEAM,
)
@snapshot.argument("name", SnapshotName(), help="Snapshot, or a PVC for its newest one")
def show(ctx: Context, name: str) -> Reply:
    """Answers with its card, the PVCs created from it, and what deleting it would lose."""
    row = _find(ctx, name)
    return replies.shown(*ctx.snapshots.snapshots.details(ctx.session, row, ctx.now))


@snapshot.verb(
    "delete",
    "Delete a snapshot; shows first what is lost",
    right=Right.SNAPSHOT_CREATE,
    mutates=True,
    examples=("delete imagenet",),
    team=TEAM,
)
@snapshot.argument("name", SnapshotName(), help="Snapshot, or a PVC for its newest one")
def delete(ctx: Context, name: str) -> Reply:
    """Answers with what that would lose, and a button."""
    row = _find(ctx, name)
    ctx.snapshots.snapshots.refuse_deleting(ctx.session, ctx.caller, row, ctx.now)
    told = foretold(ctx, RemovalKind.SNAPSHOT, row.id)
    return told(replies.question(row, ctx.snapshots.snapshots.lost(ctx.session, row)))


def of_snapshot(ctx: Context, value: str) -> str:
    """The team of the snapshot that the value of a button begins with."""
    return ctx.snapshots.snapshots.get(ctx.session, value.partition(":")[0]).team


@snapshot.button(DELETE, right=Right.SNAPSHOT_CREATE, team=of_snapshot, repeats=True)
def click_delete(ctx: Context, row_id: str) -> Reply:
    """Deletes the snapshot of a card or a question, or requests that above a limit."""

    def deleted() -> Reply:
        service = ctx.snapshots.snapshots
        row = service.get(ctx.session, row_id)
        return replies.leaving(service.delete(ctx.session, ctx.caller, row, ctx.now))

    return removed(ctx, RemovalKind.SNAPSHOT, row_id, deleted)


@snapshot.verb(
    "pin",
    "Protect a snapshot from deletion for a while",
    right=Right.SNAPSHOT_CREATE,
    mutates=True,
    examples=('pin imagenet --reason "paper under review" --for 90d',),
    team=TEAM,
)
@snapshot.argument("name", SnapshotName(), help="Snapshot, or a PVC for its newest one")
@snapshot.option("--reason", Text(), required=True, help="Why it has to stay")
@snapshot.option("--for", "time", Duration(maximum=_LONGEST_PIN), default=timedelta(days=30),
                 help="How long (default: 30d)")  # fmt: skip
def pin(ctx: Context, name: str, reason: str, time: timedelta) -> Reply:
    """Answers until when it is pinned."""
    asked = Pinning(reason, ctx.now + time)
    row = ctx.snapshots.snapshots.pin(ctx.session, ctx.caller, _find(ctx, name), asked, ctx.now)
    return replies.pinned(row, asked.until, ctx.format_command)


@snapshot.verb(
    "unpin",
    "Remove your pin from a snapshot, or all pins",
    right=Right.SNAPSHOT_CREATE,
    mutates=True,
    examples=("unpin imagenet", "unpin imagenet --all"),
    team=TEAM,
)
@snapshot.argument("name", SnapshotName(), help="Snapshot, or a PVC for its newest one")
@snapshot.option("--all", "everybody", flag=True, help="Other people's pins too (leads and admins)")
def unpin(ctx: Context, name: str, *, everybody: bool) -> Reply:
    """Answers whose pins were removed."""
    row = _find(ctx, name)
    service = ctx.snapshots.snapshots
    people = service.unpin(ctx.session, ctx.caller, row, everybody=everybody, now=ctx.now)
    return replies.unpinned(row, people)


@snapshot.verb(
    "restore",
    "Restore a snapshot to a new PVC, or revert the PVC itself",
    right=Right.SNAPSHOT_RESTORE,
    mutates=True,
    into=Restoring,
    examples=(
        "restore imagenet",
        "restore imagenet --as imagenet-before --size 2Ti",
        'restore imagenet --in-place --reason "a bad clean-up"',
    ),
    team=TEAM,
    form=FormPlan(
        fields=("is_in_place",),
        watched=("snapshot", "is_in_place", "name", "size_bytes", "storage_class", "to"),
        dependent=("name", "size_bytes", "storage_class", "is_read_only", "to", "reason"),
        applying=_of_new_claims,
        foresee=_foresee_restore,
    ),
)
@snapshot.argument("snapshot", SnapshotName(), help="Snapshot, or a PVC for its newest one")
@snapshot.option("--as", "name", NewClaimName(), help="Name of the new PVC")
@snapshot.option("--size", "size_bytes", VolumeSize(), help="Size (default: that of the volume)")
@snapshot.option("--class", "storage_class", ClassName(), help="Storage class")
@snapshot.option("--read-only", "is_read_only", flag=True, help="Without a copy (Trident only)")
@snapshot.option("--in-place", "is_in_place", flag=True, help="Revert the PVC (Trident only)")
@snapshot.option("--reason", Text(), default="", help="With --in-place: why, for the approvers")
@snapshot.option("--to", TeamName(), help="For another team of yours (Trident only)")
def restore(ctx: Context, asked: Restoring) -> Reply:
    """Answers with the PVC's name; in place, with what would be lost, and buttons."""
    if asked.is_in_place:
        _refuse_mixed(asked)
        row = _find(ctx, asked.snapshot)
        offer = ctx.snapshots.reverts.offer(ctx.session, ctx.caller, row, asked.reason)
        return offered(offer, ctx.now)
    row = _find(ctx, asked.snapshot)
    target = _member(ctx, asked.to) if asked.to else None
    service, request = ctx.snapshots.restores, _request(asked)
    made = service.restore(ctx.session, ctx.caller, row, request, ctx.now, target)
    return replies.restoring(made)


@snapshot.button(RESTORE, right=Right.SNAPSHOT_RESTORE, team=of_snapshot)
def click_restore(ctx: Context, row_id: str) -> Reply:
    """Restores the snapshot of a card to a new PVC."""
    row = ctx.snapshots.snapshots.get(ctx.session, row_id)
    made = ctx.snapshots.restores.restore(
        ctx.session, ctx.caller, row, restoring.RestoreRequest(), ctx.now
    )
    return replies.restoring(made)


@snapshot.verb(
    "clone",
    "Create a new PVC with the current data of another one",
    right=Right.SNAPSHOT_RESTORE,
    mutates=True,
    into=Cloning,
    examples=("clone imagenet --as imagenet-mine",),
    team=TEAM,
    cluster=CLUSTER,
    form=FormPlan(
        fields=("size_bytes", "storage_class"),
        watched=("claim", "name", "size_bytes", "storage_class"),
        foresee=_foresee_clone,
    ),
)
@snapshot.argument("claim", ClaimName(), help="PVC of the team")
@snapshot.option("--as", "name", NewClaimName(), required=True, help="Name of the new PVC")
@snapshot.option("--size", "size_bytes", VolumeSize(), help="Size (default: that of the volume)")
@snapshot.option("--class", "storage_class", ClassName(), help="Storage class")
def clone(ctx: Context, asked: Cloning) -> Reply:
    """Answers with the PVC's name; its card shows the progress."""
    ctx.team()
    request = restoring.RestoreRequest(asked.name, asked.size_bytes, asked.storage_class)
    made = ctx.snapshots.restores.clone(
        ctx.session, ctx.caller, asked.claim, request, ctx.now, asked.cluster
    )
    return replies.restoring(made)


def _request(asked: Restoring) -> restoring.RestoreRequest:
    return restoring.RestoreRequest(
        asked.name, asked.size_bytes, asked.storage_class, asked.is_read_only
    )


def _refuse_mixed(asked: Restoring) -> None:
    new = (asked.name, asked.size_bytes, asked.storage_class, asked.is_read_only or None, asked.to)
    if any(each is not None for each in new):
        raise UsageError(
            "--as, --size, --class, --to and --read-only create a new PVC; --in-place does not.",
            f"Omit them: `restore {asked.snapshot} --in-place`.",
        )


def _member(ctx: Context, team: str) -> Caller:
    """The person as a member of another team, after checking their right to restore there."""
    access, caller = ctx.services.access, ctx.caller
    theirs = access.caller(ctx.session, caller.person, caller.channel, team=team)
    access.require(theirs, Right.SNAPSHOT_RESTORE)
    return theirs


def _find(ctx: Context, name: str) -> Snapshot:
    return ctx.snapshots.snapshots.find(ctx.session, ctx.team()[0], name)
