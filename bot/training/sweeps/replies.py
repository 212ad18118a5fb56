"""What only one person sees of a sweep: the receipt, the question before a stop, its answer."""

from collections.abc import Sequence

from bot.slack.card import Button, Card, Reply
from bot.slack.markup import FormatCommand, Markup, code, join, plain
from bot.training.sweeps.card import STOP, stop_words
from bot.training.sweeps.cells import Cell
from bot.training.sweeps.service import StoppedSweep, SubmittedSweep
from bot.training.sweeps.tables import Sweep
from bot.training.templates.wording import order_words
from bot.training.wording import start_words


def receipt(made: SubmittedSweep, format_command: FormatCommand) -> tuple[Markup, ...]:
    """The answer to a submission."""
    sweep, first = made.sweep, made.first
    undo = code(format_command(f"train stop {sweep.name}"))
    return (
        join("Submitted sweep ", code(sweep.name), plain(f" for {sweep.team}.")),
        plain(made.outlook.sentence),
        *(plain(each) for each in order_words(made.outlook.on, "Each run")),
        *(plain(each) for each in made.outlook.costs),
        *(plain(each) for each in start_words(first.spec)),
        join("Its card in this channel follows it. ", undo, " stops it."),
        *(plain(warning) for warning in first.warnings),
    )


def stop_question(sweep: Sweep, cells: Sequence[Cell]) -> Reply:
    """Asks before a sweep is stopped, with the number of its live runs."""
    button = Button(STOP, "Stop it", sweep.id, "danger")
    lines = (plain(stop_words(cells)),)
    card = Card(f"Stop sweep {sweep.name}?", lines=lines, buttons=(button,))
    return Reply(card=card, is_question=True)


def stopped(made: StoppedSweep) -> tuple[Markup, ...]:
    """The answer to a stop."""
    count = made.stopping
    runs = f"{count} run{'' if count == 1 else 's'} of it {'is' if count == 1 else 'are'} ending"
    said = join("Stopping sweep ", code(made.sweep.name), plain(f": {runs}."))
    if not made.left:
        return (said,)
    others = f"Submitted again by others, so these go on: {', '.join(made.left)}."
    return (said, plain(others))
