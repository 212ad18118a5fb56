"""The card of the compute templates that a team can use."""

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal

from bot.config import Prices, Team, Template
from bot.durations import format_duration
from bot.quotas import Figures, Queues
from bot.slack.card import Card, Table
from bot.slack.markup import plain
from bot.training.expecting import room
from bot.training.placing.choosing import team_at

_HEADER = ("Template", "For", "Cluster", "Queue", "GPU type", "Price per GPU-hour",
           "GPUs free now", "Moves on after")  # fmt: skip
_UNKNOWN = "unknown"


def templates_card(
    name: str,
    team: Team,
    templates: Mapping[str, Template],
    queues_of: Callable[[str], Queues],
    prices: Prices,
) -> Card:
    """The card of a team's templates: where each is, what it costs, and what is free there now."""
    title = f"Compute templates of {name}"
    if not templates:
        line = plain("There are none. Platform admins define them in quartermaster.yaml.")
        return Card(title, lines=(line,))
    rows = tuple(
        _row(key, each, team_at(team, each), queues_of(each.cluster), prices)
        for key, each in templates.items()
    )
    example = ",".join(list(templates)[:2])
    line = plain(f"`--on {example}` lets a run wait on them in this order.")
    return Card(title, lines=(line,), table=Table(_HEADER, rows))


def _row(
    name: str, template: Template, team: Team, queues: Queues, prices: Prices
) -> tuple[str, ...]:
    queue = queues.behind(team.namespace, team.queue)
    kind = template.gpu_type
    figures = [each for each in (queue.figures if queue else ()) if kind in {None, each.flavor}]
    return (
        name,
        template.purpose,
        template.cluster,
        team.queue,
        kind or ", ".join(each.flavor for each in figures) or "any",
        _price(template, figures, prices),
        ", ".join(_free(figures, queues)) or _UNKNOWN,
        format_duration(template.after),
    )


def _price(template: Template, figures: list[Figures], prices: Prices) -> str:
    own = template.price_per_gpu_hour
    known = [own] if own is not None else _known(template, figures, prices)
    return ", ".join(f"{each:,.2f} {prices.currency}" for each in known) or _UNKNOWN


def _known(template: Template, figures: list[Figures], prices: Prices) -> list[Decimal]:
    flavors = [template.gpu_type] if template.gpu_type else [each.flavor for each in figures]
    return [prices.per_gpu_hour[each] for each in flavors if each in prices.per_gpu_hour]


def _free(figures: list[Figures], queues: Queues) -> Iterator[str]:
    for each in figures:
        free = room(each, queues.pool(each))
        yield _UNKNOWN if free is None else f"{free.normalize():f}"
