"""The answer of /train show: the card of a run with its whole record."""

from dataclasses import replace

from bot.commands.context import Context
from bot.slack.card import Card
from bot.slack.markup import plain
from bot.training.records.lineage import lineage_of
from bot.training.records.record import details
from bot.training.records.spans import times_of
from bot.training.runs.card import people_of, run_card, with_curves
from bot.training.series.service import series_of
from bot.training.tables import Run


def record_card(ctx: Context, run: Run) -> Card:
    """The run's card with its whole record, and what becomes of its nodes if it ended."""
    lineage = lineage_of(ctx.session, run)
    links = ctx.settings.training.links
    card = run_card(run, people_of(ctx.session, run), ctx.now, lineage, links)
    series = series_of(ctx.session, run.id)
    card = with_curves(card, run) if series else card
    trouble = ctx.training.exports.trouble(ctx.session, run)
    more = details(run, times_of(ctx.session, run, ctx.now), lineage, series, trouble)
    said = ctx.training.reads.afterwards(run)
    nodes = (("Its nodes now", plain(said)),) if said else ()
    return replace(card, facts=(*card.facts, *more, *nodes))
