"""/pvc: a team's PVCs, what mounts them, their snapshots and their cost."""

from bot.commands.context import Context
from bot.people.access import Right
from bot.slack.card import Reply
from bot.slack.grammar.declarations import CLUSTER, TEAM, Command
from bot.slack.markup import code, join, plain
from bot.snapshots.claims.card import claim_card, claims_card
from bot.snapshots.claims.found import ClaimRun
from bot.training.records.mounting import ClaimPlace, runs_mounting
from handlers.snapshot.snapshots import ClaimName

pvc = Command("pvc", "PVCs: what mounts them, their snapshots, levels and cost")


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
