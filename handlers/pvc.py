"""/pvc: a team's PVCs, what mounts them, their snapshots and cost; resize, copy, delete."""

from dataclasses import dataclass, replace

from bot.commands.context import Context
from bot.leftovers.removals.tables import RemovalKind
from bot.people.access import Right
from bot.slack.card import Reply
from bot.slack.grammar.container_parameters import MemoryQuantity
from bot.slack.grammar.declarations import CLUSTER, TEAM, Command
from bot.slack.markup import code, join, plain
from bot.snapshots.claims.card import claim_card, claims_card
from bot.snapshots.claims.found import ClaimRun, ClaimSummary, TeamClaims
from bot.snapshots.copies import card as copies
from bot.snapshots.copies import plan as copying
from bot.snapshots.deletions import card as deleting
from bot.snapshots.deletions import service as deletions
from bot.snapshots.deletions.unused import ASK, LastRun, UnusedClaims, unused_card
from bot.snapshots.resizes.card import GO, WITHDRAW, question
from bot.snapshots.resizes.plan import ResizeRequest, bytes_of, read
from bot.training.records.mounting import last_mounting, runs_mounting
from bot.volumes.records import ClaimPlace
from handlers.dataset.caches import ClassName
from handlers.removals import foretold, removed
from handlers.snapshot.snapshots import ClaimName, NewClaimName, VolumeSize

pvc = Command(
    "pvc", "PVCs: what mounts them, their snapshots and cost; resize, copy and delete them"
)


@pvc.verb(
    "list",
    "The team's PVCs: size, class, who mounts them, snapshots, cost",
    right=Right.PVC_READ,
    examples=("list",),
    team=TEAM,
    cluster=CLUSTER,
)
def list_claims(ctx: Context, cluster: str | None) -> Reply:
    """A table from the watches; levels of Azure NetApp Files follow when Azure has answered."""
    name, team = ctx.team(cluster)
    claims = ctx.snapshots.claims
    found = claims.listing(name, team, cluster)
    if not claims.may_be_on_anf(found.rows):
        return Reply(card=claims_card(found, ctx.format_command))
    return Reply(
        (plain(f"Asking Azure for the levels of {name}'s PVCs…"),),
        later=lambda: Reply(card=claims_card(claims.with_levels(found, team), ctx.format_command)),
    )


@pvc.verb(
    "show",
    "One PVC: what mounts it, its snapshots, its source, its level",
    right=Right.PVC_READ,
    examples=("show imagenet",),
    team=TEAM,
    cluster=CLUSTER,
)
@pvc.argument("claim", ClaimName(), help="PVC of the team")
def show(ctx: Context, claim: str, cluster: str | None) -> Reply:
    """Its details from the watches; its level follows when Azure has answered."""
    name, team = ctx.team(cluster)
    claims = ctx.snapshots.claims
    summary = claims.find(name, team, claim, cluster)
    place = ClaimPlace(summary.cluster, team.namespace, claim)
    runs = [
        ClaimRun(each.reference, each.state, each.is_read_only)
        for each in runs_mounting(ctx.session, name, place, ctx.now)
    ]
    found = claims.details(ctx.session, name, summary, runs)
    if not claims.may_be_on_anf((found.summary,)):
        return Reply(card=claim_card(found))
    return Reply(
        (join("Asking Azure for the level of ", code(claim), "…"),),
        later=lambda: Reply(card=claim_card(claims.with_level(found, team))),
    )


@pvc.verb(
    "unused",
    "The team's PVCs that nothing needs, and what they cost",
    right=Right.PVC_READ,
    examples=("unused",),
    team=TEAM,
    cluster=CLUSTER,
)
def unused(ctx: Context, cluster: str | None) -> Reply:
    """A table, the most expensive first; levels follow when Azure has answered."""
    name, team = ctx.team(cluster)
    shown, _ = unused_claims(ctx, cluster)
    claims, found = ctx.snapshots.claims, shown.found
    now, format_command = ctx.now, ctx.format_command
    if not claims.may_be_on_anf(found.rows):
        return Reply(card=unused_card(shown, now, format_command))

    def with_levels() -> Reply:
        priced = replace(shown, found=claims.with_levels(found, team))
        return Reply(card=unused_card(priced, now, format_command))

    return Reply((plain(f"Asking Azure for the levels of {name}'s PVCs…"),), later=with_levels)


def unused_claims(ctx: Context, cluster: str | None = None) -> tuple[UnusedClaims, TeamClaims]:
    """The team's PVCs that nothing needs, and all of them, as the watches and rows show them."""
    name, team = ctx.team(cluster)
    every = ctx.snapshots.claims.listing(name, team, cluster)
    found = replace(every, rows=ctx.snapshots.deletions.unused(ctx.session, every.rows))
    places = [ClaimPlace(each.cluster, team.namespace, each.claim.name) for each in found.rows]
    last = {
        (place.cluster, place.name): LastRun(run.reference, run.ended_at)
        for place, run in last_mounting(ctx.session, name, places).items()
        if run.ended_at is not None
    }
    return UnusedClaims(found, last, ctx.caller.may(Right.PVC_DELETE)), every


@pvc.verb(
    "resize",
    "Make a PVC larger permanently; shows the cost first",
    right=Right.PVC_RESIZE,
    mutates=True,
    repeats=True,
    examples=("resize imagenet 2Ti",),
    team=TEAM,
    cluster=CLUSTER,
)
@pvc.argument("claim", ClaimName(), help="PVC of the team")
@pvc.argument("size", MemoryQuantity(), help="New size")
def resize(ctx: Context, claim: str, size: str, cluster: str | None) -> Reply:
    """Answers with what it does and costs, and a button."""
    name, team = ctx.team(cluster)
    found = ctx.snapshots.claims.find(name, team, claim, cluster)
    asked = ResizeRequest(team=name, cluster=found.cluster, claim=claim, size_bytes=bytes_of(size))
    return question(asked, ctx.snapshots.resizes.plan(ctx.session, asked, found))


def _of_asked(_ctx: Context, value: str) -> str:
    return read(value).team


@pvc.button(GO, right=Right.PVC_RESIZE, team=_of_asked, once=True)
def click_resize(ctx: Context, value: str) -> Reply:
    """Requests the resize; its card in the channel shows the progress."""
    asked = read(value)
    name, team = ctx.team(asked.cluster)
    found = ctx.snapshots.claims.find(name, team, asked.claim, asked.cluster)
    ctx.snapshots.resizes.begin(ctx.session, ctx.caller, asked, found, ctx.now)
    return Reply((plain("Requested. Its card in this channel shows the progress."),))


def _of_resize(ctx: Context, row_id: str) -> str:
    return ctx.snapshots.resizes.get(ctx.session, row_id).team


@pvc.button(WITHDRAW, right=Right.PVC_RESIZE, team=_of_resize)
def click_withdraw_resize(ctx: Context, row_id: str) -> Reply:
    """Withdraws a resize that is not approved yet."""
    row = ctx.snapshots.resizes.get(ctx.session, row_id)
    ctx.snapshots.resizes.withdraw(ctx.session, ctx.caller, row, ctx.now)
    return Reply((plain("Withdrawn. Nothing was changed."),))


@dataclass(frozen=True)
class Copying:
    """The options of `/pvc copy`."""

    claim: str
    name: str | None = None
    storage_class: str | None = None
    size_bytes: int | None = None
    is_snapshot: bool = False
    is_live: bool = False
    cluster: str | None = None


@pvc.verb(
    "copy",
    "Copy a PVC to a new one that many pods can mount (RWX); shows the cost first",
    right=Right.PVC_COPY,
    mutates=True,
    repeats=True,
    examples=("copy data --as data-shared --class nfs-rwx --size 200Gi", "copy data --snapshot"),
    team=TEAM,
    cluster=CLUSTER,
    into=Copying,
)
@pvc.argument("claim", ClaimName(), help="PVC of the team")
@pvc.option("--as", "name", NewClaimName(), help="Name of the new PVC (default: PVC-rwx)")
@pvc.option("--class", "storage_class", ClassName(), help="Its storage class")
@pvc.option("--size", "size_bytes", VolumeSize(), help="Its size (default: that of PVC)")
@pvc.option("--snapshot", "is_snapshot", flag=True, help="Copy a snapshot of a PVC in use")
@pvc.option("--live", "is_live", flag=True, help="Copy a PVC while pods change its files")
def copy(ctx: Context, asked: Copying) -> Reply:
    """Answers with what it does and costs, and a button."""
    name, team = ctx.team(asked.cluster)
    found = ctx.snapshots.claims.find(name, team, asked.claim, asked.cluster)
    request = copying.CopyRequest(
        team=name,
        cluster=found.cluster,
        claim=asked.claim,
        uid=found.claim.uid,
        target=asked.name or copying.usual_name(asked.claim),
        storage_class=asked.storage_class,
        size_bytes=asked.size_bytes or 0,
        reads=copying.source_of(is_live=asked.is_live, is_snapshot=asked.is_snapshot),
    )
    plan = ctx.snapshots.copies.plan(ctx.session, request, found)
    return copies.question(request, plan, ctx.format_command)


def _of_asked_copy(_ctx: Context, value: str) -> str:
    return copying.read(value).team


@pvc.button(copies.GO, right=Right.PVC_COPY, team=_of_asked_copy, once=True)
def click_copy(ctx: Context, value: str) -> Reply:
    """Begins the copy; its card in the channel shows the progress."""
    asked = copying.read(value)
    name, team = ctx.team(asked.cluster)
    found = ctx.snapshots.claims.find(name, team, asked.claim, asked.cluster)
    ctx.snapshots.copies.begin(ctx.session, ctx.caller, asked, found, ctx.now)
    return Reply((plain("Requested. Its card in this channel shows the progress."),))


def _of_copy(ctx: Context, row_id: str) -> str:
    return ctx.snapshots.copies.get(ctx.session, row_id).team


@pvc.button(copies.STOP, right=Right.PVC_COPY, team=_of_copy)
def click_stop_copy(ctx: Context, row_id: str) -> Reply:
    """Stops a copy, or withdraws its request."""
    row = ctx.snapshots.copies.get(ctx.session, row_id)
    ctx.snapshots.copies.stop(ctx.session, ctx.caller, row, ctx.now)
    said = "Withdrawn. Nothing was changed." if row.is_cleared else "Stopping. Its card shows it."
    return Reply((plain(said),))


@pvc.verb(
    "delete",
    "Delete a PVC that nothing needs; shows first what is lost",
    right=Right.PVC_DELETE,
    mutates=True,
    repeats=True,
    examples=("delete imagenet --snapshot-first", "delete imagenet"),
    team=TEAM,
    cluster=CLUSTER,
)
@pvc.argument("claim", ClaimName(), help="PVC of the team")
@pvc.option("--snapshot-first", "saves", flag=True, help="Take a snapshot first, which stays")
def delete(ctx: Context, claim: str, cluster: str | None, *, saves: bool) -> Reply:
    """Answers with what is lost, and a button."""
    name, team = ctx.team(cluster)
    found = ctx.snapshots.claims.find(name, team, claim, cluster)
    asked = deletions.DeletionRequest(
        team=name, cluster=found.cluster, claim=claim, uid=found.claim.uid, saves=saves
    )
    return _deletion_question(ctx, asked, found)


def _deletion_question(
    ctx: Context, asked: deletions.DeletionRequest, found: ClaimSummary
) -> Reply:
    ctx.snapshots.deletions.check(ctx.session, ctx.caller, asked, found, ctx.now)
    told = foretold(ctx, RemovalKind.CLAIM, deletions.written(asked))
    return told(deleting.question(asked, found))


def _of_asked_deletion(_ctx: Context, value: str) -> str:
    return deletions.read(value).team


@pvc.button(ASK, right=Right.PVC_DELETE, team=_of_asked_deletion, repeats=True)
def click_ask_delete(ctx: Context, value: str) -> Reply:
    """Answers with what is lost, and a button, as `/pvc delete` does."""
    asked = deletions.read(value)
    name, team = ctx.team(asked.cluster)
    found = ctx.snapshots.claims.find(name, team, asked.claim, asked.cluster)
    return _deletion_question(ctx, asked, found)


@pvc.button(deleting.GO, right=Right.PVC_DELETE, team=_of_asked_deletion, once=True)
def click_delete(ctx: Context, value: str) -> Reply:
    """Begins the deletion, or requests it above a limit; its card in the channel shows it."""
    return removed(ctx, RemovalKind.CLAIM, value, lambda: _deletion_begun(ctx, value))


def _deletion_begun(ctx: Context, value: str) -> Reply:
    asked = deletions.read(value)
    name, team = ctx.team(asked.cluster)
    found = ctx.snapshots.claims.find(name, team, asked.claim, asked.cluster)
    ctx.snapshots.deletions.begin(ctx.session, ctx.caller, asked, found, ctx.now)
    return Reply((plain("Requested. Its card in this channel shows the progress."),))


def _of_deletion(ctx: Context, row_id: str) -> str:
    return ctx.snapshots.deletions.get(ctx.session, row_id).team


@pvc.button(deleting.CANCEL, right=Right.PVC_DELETE, team=_of_deletion)
def click_cancel_deletion(ctx: Context, row_id: str) -> Reply:
    """Cancels a deletion whose snapshot is not ready yet."""
    row = ctx.snapshots.deletions.get(ctx.session, row_id)
    ctx.snapshots.deletions.cancel(ctx.session, ctx.caller, row, ctx.now)
    return Reply((plain("Cancelled. The PVC and the snapshot stay."),))
