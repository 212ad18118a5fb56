"""/anf: volumes and capacity pools of Azure NetApp Files."""

import re

from bot.commands.context import Context
from bot.people.access import Right
from bot.slack.card import Reply
from bot.slack.grammar.declarations import CLUSTER, TEAM, Part
from bot.slack.grammar.parameters import Pattern
from bot.slack.markup import code, join, plain
from bot.volumes.pools.card import pools_card, volume_card, volumes_card


class ClaimName(Pattern):
    """The name of a PVC."""

    word = "PVC"
    rule = re.compile(r"(?=.{1,253}\Z)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
    form = "the name of a PVC: lower-case letters, digits, dots and hyphens"
    example = "lane-data"


anf = Part("anf")


@anf.verb(
    "volumes",
    "The team's PVCs on Azure NetApp Files: pool, level, size, throughput",
    right=Right.ANF_READ,
    examples=("volumes",),
    team=TEAM,
)
def volumes(ctx: Context) -> Reply:
    """A table of the team's own PVCs, read from Azure after the acknowledgement."""
    name, found = ctx.team()
    reads = ctx.volumes.reads
    configured = reads.configured()
    is_wide = len(found.reach) > 1
    return Reply(
        (plain(f"Asking Azure for the volumes of {name}…"),),
        later=lambda: Reply(
            card=volumes_card(name, reads.volumes(found), configured, is_wide=is_wide)
        ),
    )


@anf.verb(
    "pools",
    "The capacity pools: level, size, free, QoS, cost",
    right=Right.ANF_POOLS,
    examples=("pools",),
)
def pools(ctx: Context) -> Reply:
    """A table of all pools, read from Azure after the acknowledgement."""
    reads = ctx.volumes.reads
    configured = reads.configured()
    return Reply(
        (plain("Asking Azure for the capacity pools…"),),
        later=lambda: Reply(card=pools_card(reads.pools(), configured)),
    )


@anf.verb(
    "show",
    "One PVC: its volume, its throughput, and that of other levels",
    right=Right.ANF_READ,
    examples=("show lane-data",),
    team=TEAM,
    cluster=CLUSTER,
)
@anf.argument("claim", ClaimName(), help="PVC")
def show(ctx: Context, claim: str, cluster: str | None) -> Reply:
    """Its card, read from Azure after the acknowledgement."""
    _, found = ctx.team(cluster)
    reads = ctx.volumes.reads
    configured = reads.configured()
    where, mine = reads.find(found, claim, cluster)
    return Reply(
        (join("Asking Azure for the volume of ", code(claim), "…"),),
        later=lambda: Reply(card=volume_card(reads.show(where, mine), configured)),
    )
