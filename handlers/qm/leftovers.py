"""/qm leftovers: what costs and is not used."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from bot.commands.context import Context
from bot.gpus.idle_nodes import IdleGroup, used_last_by
from bot.gpus.samples.sums import Who
from bot.leftovers import leftover
from bot.leftovers.card import leftovers_card
from bot.leftovers.leftover import Leftover
from bot.leftovers.nodes import of_nodes
from bot.leftovers.removals.card import WITHDRAW
from bot.leftovers.removals.wording import limits
from bot.people.access import Right
from bot.slack.card import Reply
from bot.slack.grammar.declarations import TEAM, Part
from bot.slack.markup import Markup, code, join, plain
from bot.snapshots.claims.card import reading_remarks
from bot.snapshots.deletions.unused import UnusedClaims
from handlers.pvc import unused_claims

qm = Part("qm")


@qm.verb(
    "leftovers",
    "Show what costs and is not used, with a button to remove each",
    right=Right.DATASET_USAGE,
    examples=("leftovers", "leftovers --platform"),
    team=TEAM,
)
@qm.option("--platform", "is_platform", flag=True, help="What belongs to no team (admins only)")
def leftovers(ctx: Context, *, is_platform: bool) -> Reply:
    """A table, the most expensive first; levels of PVCs follow when Azure has answered."""
    if is_platform:
        ctx.require(Right.DATASET_CLEAN)
        currency = ctx.settings.training.prices.currency
        above = (plain(_above(ctx)),) if ctx.settings.leftovers.has_limit else ()
        idle, unknown = ctx.gpus.usage.idle_nodes(ctx.session, ctx.now)
        found = [*_of_platform(ctx), *_of_nodes(ctx, idle)]
        remarks = (*above, *_unseen(unknown))
        return Reply(card=leftovers_card("the platform", found, remarks, currency))
    ctx.require(Right.PVC_READ)
    team = ctx.team()[1]
    unused, every = unused_claims(ctx)
    others = [*_of_team(ctx, {each.claim.name for each in every.rows})]
    deleting, remarks, now = _by_leads(ctx), tuple(_remarks(ctx)), ctx.now
    currency, claims = ctx.settings.training.prices.currency, ctx.snapshots.claims

    def shown(claimed: UnusedClaims) -> Reply:
        mine = [*leftover.of_claims(claimed, now)]
        how = (deleting,) if mine and not claimed.may_delete else ()
        said = (*how, *reading_remarks(claimed.found), *remarks)
        return Reply(card=leftovers_card(claimed.found.team, [*mine, *others], said, currency))

    if not claims.may_be_on_anf(unused.found.rows):
        return shown(unused)

    def with_levels() -> Reply:
        return shown(replace(unused, found=claims.with_levels(unused.found, team)))

    asked = f"Asking Azure for the levels of {unused.found.team}'s PVCs…"
    return Reply((plain(asked),), later=with_levels)


def _of_team(ctx: Context, claims: set[str]) -> Iterator[Leftover]:
    """The leftovers of the team besides its PVCs, of which these exist."""
    name, settings = ctx.team()[0], ctx.settings
    snapshots = ctx.snapshots.snapshots.endless(ctx.session, name, ctx.now)
    yield from leftover.of_snapshots(snapshots, claims, ctx.now)
    if settings.datasets is not None:
        caches = ctx.datasets.usage.unused(ctx.session, name, ctx.now)
        yield from leftover.of_caches(caches, settings.datasets, ctx.now)
    idle = ctx.gpus.usage.idle(ctx.session, name, ctx.now)
    yield from leftover.of_idle(idle, settings.training.prices.per_gpu_hour, ctx.now)
    nodes = used_last_by(ctx.gpus.usage.idle_nodes(ctx.session, ctx.now)[0], name)
    yield from _of_nodes(ctx, nodes, ctx.team()[1].namespace)


def _of_nodes(
    ctx: Context, found: Iterable[IdleGroup], namespace: str | None = None
) -> Iterator[Leftover]:
    prices = ctx.settings.training.prices.per_gpu_hour

    def named(who: Who) -> str:
        return ctx.gpus.usage.user_of(ctx.session, who)

    return of_nodes(found, prices, ctx.now, named, namespace)


def _unseen(clusters: Sequence[str]) -> Iterator[Markup]:
    if clusters:
        yield plain(f"Idle nodes are unknown for now in: {', '.join(clusters)}.")


def _of_platform(ctx: Context) -> Iterator[Leftover]:
    """What belongs to no team: objects of datasets, capacity pools."""
    settings = ctx.settings
    yield from leftover.of_orphans(ctx.datasets.usage.orphans(ctx.session), ctx.now)
    pools = ctx.volumes.reads.pools_seen(ctx.session, ctx.now)
    yield from leftover.of_pools(pools, settings.anf, ctx.volumes.on.installation)


def _by_leads(ctx: Context) -> Markup:
    delete = code(ctx.format_command("pvc delete PVC --snapshot-first"))
    return join(delete, " deletes a PVC. Leads and admins may do that.")


def _above(ctx: Context) -> str:
    most = limits(ctx.settings.leftovers)
    return f"Above {most}, another person has to approve a removal."


def _remarks(ctx: Context) -> Iterator[Markup]:
    """What needs an approval, what this cannot know, and where the rest is."""
    if ctx.settings.leftovers.has_limit:
        yield plain(_above(ctx))
    if not all(each.measures_gpus for each in ctx.settings.clusters.values()):
        yield plain("Idle GPUs are unknown where no GPU metrics are configured.")
    if ctx.caller.may(Right.DATASET_CLEAN):
        command = code(ctx.format_command("qm leftovers --platform"))
        yield join(command, " shows what belongs to no team.")


def _of_removal(ctx: Context, row_id: str) -> str | None:
    return ctx.services.leftovers.removals.get(ctx.session, row_id).team or None


@qm.button(WITHDRAW, right=Right.DATASET_USAGE, team=_of_removal)
def click_withdraw(ctx: Context, row_id: str) -> Reply:
    """Withdraws a request to remove something, which is not decided yet."""
    removals = ctx.services.leftovers.removals
    removals.withdraw(ctx.session, ctx.caller, removals.get(ctx.session, row_id), ctx.now)
    return Reply((plain("Withdrawn. Nothing was removed."),))
