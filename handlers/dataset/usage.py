"""/dataset usage: fast storage used by caches, and leftover objects."""

from bot.commands.context import Context
from bot.datasets.leftovers.notices import REMOVE
from bot.datasets.usage.card import usage_card
from bot.leftovers.removals.tables import RemovalKind
from bot.people.access import Right, Role
from bot.slack.card import Reply
from bot.slack.grammar.declarations import TEAM, Part, of_no_team
from bot.slack.markup import code, join, plain
from handlers.removals import removed

dataset = Part("dataset")


@dataset.verb(
    "usage",
    "Show fast storage used by caches, by class and team, and when each is evicted",
    right=Right.DATASET_USAGE,
    examples=("usage",),
    team=TEAM,
)
def usage(ctx: Context) -> Reply:
    """What is committed, filled and free."""
    sees_all = Role.ADMIN in ctx.caller.roles
    found = ctx.datasets.usage.usage(
        ctx.session, None if sees_all else ctx.caller.team or "", ctx.now
    )
    may_clean = ctx.caller.may(Right.DATASET_CLEAN)
    return Reply(card=usage_card(found, ctx.now, may_clean=may_clean))


@dataset.button(REMOVE, right=Right.DATASET_CLEAN, team=of_no_team)
def click_remove(ctx: Context, orphan_id: str) -> Reply:
    """Deletes a leftover object, or requests an approval of that above a limit."""
    return removed(ctx, RemovalKind.OBJECT, orphan_id, lambda: _removed(ctx, orphan_id))


def _removed(ctx: Context, orphan_id: str) -> Reply:
    orphan = ctx.datasets.usage.remove(ctx.session, ctx.caller, orphan_id, ctx.now)
    place = f"{orphan.namespace}/{orphan.name}" if orphan.namespace else orphan.name
    return Reply(
        (
            join("Removing ", code(place), plain(f" ({orphan.kind}), unless something needs it.")),
            join(code(ctx.format_command("dataset usage")), " shows whether it is deleted."),
        )
    )
