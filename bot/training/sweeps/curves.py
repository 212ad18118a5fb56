"""The curves of a sweep: the metric of its cells in one picture."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bot.errors import NotFoundError
from bot.slack.card import Card
from bot.slack.markup import Markup, plain
from bot.training.series.card import MOST_CURVES, CurvesRequest, Metrics, curves_card
from bot.training.sweeps.tables import Sweep

_NAMED = 10


def sweep_curves(sweep: Sweep, found: Sequence[Metrics], asked: CurvesRequest) -> Card:
    """The curves of the cells, given best first; by default of the sweep's metric.

    NotFoundError if no cell has the metrics that were asked for.
    """
    names = asked.names or ((sweep.metric,) if _having(found, (sweep.metric,)) else ())
    having = _having(found, names)
    if not having:
        said = " and ".join(names) or "metrics"
        raise NotFoundError(
            f"No run of sweep {sweep.name} has {said}{' so far' if sweep.is_live else ''}.",
            _known(found),
        )
    drawn = having[: max(MOST_CURVES // max(len(names), 1), 1)]
    card = curves_card(drawn, replace(asked, names=names, of=f"sweep {sweep.name}"))
    without = [each.run.reference for each in found if each not in having]
    return replace(card, lines=(*_notes(len(drawn), len(having), without), *card.lines))


def _having(found: Sequence[Metrics], names: Sequence[str]) -> list[Metrics]:
    """The runs that have all these metrics, or any at all."""
    wanted = {name.casefold() for name in names}
    return [
        each for each in found if each.rows and wanted <= {row.name.casefold() for row in each.rows}
    ]


def _known(found: Sequence[Metrics]) -> str:
    names = dict.fromkeys(row.name for each in found for row in each.rows)
    if not names:
        return (
            'A program reports them by lines such as `quartermaster: {"step": 100, "loss": 0.4}`.'
        )
    return f"They have: {', '.join([*names][:_NAMED])}."


def _notes(drawn: int, having: int, without: Sequence[str]) -> Iterator[Markup]:
    if drawn < having:
        yield plain(f"The best {drawn} of {having} runs.")
    if without:
        more = f" and {len(without) - _NAMED} more" if len(without) > _NAMED else ""
        yield plain(f"Without these metrics: {', '.join(without[:_NAMED])}{more}.")
