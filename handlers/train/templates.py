"""/train templates: the compute templates on which a team's runs can wait."""

from bot.commands.context import Context
from bot.people.access import Right
from bot.slack.card import Reply
from bot.slack.grammar.declarations import TEAM, Part
from bot.training.placing.choosing import usable
from bot.training.placing.listing import templates_card

train = Part("train")


@train.verb(
    "templates",
    "Compute templates for submit: where they are, prices, free GPUs",
    right=Right.RUN_READ,
    examples=("templates",),
    team=TEAM,
)
def templates(ctx: Context) -> Reply:
    """The templates that the team can use, with what is free there as the views show it."""
    name, team = ctx.team()
    known, prices = usable(ctx.settings, name), ctx.settings.training.prices
    return Reply(card=templates_card(name, team, known, ctx.quotas.queues, prices))
