"""The card of `/qm leftovers`. Pure: no I/O."""

from collections.abc import Iterator, Sequence

from bot.leftovers.leftover import Leftover
from bot.slack.card import Card, Table
from bot.slack.markup import Markup, code, join, plain, sentence
from bot.volumes.wording import money

_HEADER = ("What", "Kind", "Amount", "State")
_COST = "Monthly cost"
_MOST_ROWS, _MOST_BUTTONS, _MOST_REMOVALS = 50, 10, 10


def leftovers_card(
    owner: str, found: Sequence[Leftover], remarks: Sequence[Markup], currency: str
) -> Card:
    """What costs and is not used, the most expensive first, with buttons for the first ten.

    `remarks` say what could not be read, and where further leftovers are shown.
    """
    rows = sorted(found, key=lambda each: (-(each.monthly_cost or 0.0), each.kind, each.name))
    has_costs = any(each.monthly_cost is not None for each in rows)
    shown = tuple(
        (
            *(each.name, each.kind, each.amount, each.unused),
            *((money(each.monthly_cost),) if has_costs else ()),
        )
        for each in rows[:_MOST_ROWS]
    )
    header = (*_HEADER, *((_COST,) if has_costs else ()))
    buttons = [each.button for each in rows if each.button is not None]
    return Card(
        f"Leftovers of {owner}",
        lines=(*_lines(owner, rows, currency), *remarks),
        table=Table(header, shown) if shown else None,
        buttons=tuple(buttons[:_MOST_BUTTONS]),
    )


def _lines(owner: str, rows: Sequence[Leftover], currency: str) -> Iterator[Markup]:
    if not rows:
        yield plain(f"Nothing of {owner} is known to cost and to be unused.")
        return
    known = [each.monthly_cost for each in rows if each.monthly_cost is not None]
    if known:
        rest = "" if len(known) == len(rows) else ", for those with a known price"
        yield plain(f"Total: {money(sum(known))} {currency} a month{rest}.")
    if any(each.button is not None for each in rows):
        yield plain("Each button asks first, and checks again that nothing needs it.")
    if len(rows) > _MOST_ROWS:
        yield plain(f"{len(rows) - _MOST_ROWS} more are not shown.")
    yield from _by_hand(rows)


def _by_hand(rows: Sequence[Leftover]) -> Iterator[Markup]:
    """How people remove what has no button."""
    found = [each for each in rows if each.advice or each.command]
    for each in found[:_MOST_REMOVALS]:
        named = plain(f"{each.kind} {each.name}: ")
        if each.command and each.advice:
            yield join(named, sentence(f"{each.advice} "), code(each.command))
        elif each.command:
            yield join(named, "The bot does not delete it. To delete it permanently: ",
                       code(each.command))  # fmt: skip
        else:
            yield join(named, sentence(each.advice))
    if len(found) > _MOST_REMOVALS:
        yield plain(f"And {len(found) - _MOST_REMOVALS} more without a button.")
