"""Answers about runs whose data is not cached, and about the caches created for them."""

from collections.abc import Sequence

from bot.datasets.caches.answers import CacheFound, CacheOffer
from bot.datasets.caches.replies import costs
from bot.datasets.caches.tables import Cache, CachePhase
from bot.slack.card import Button, Card, Reply
from bot.slack.markup import FormatCommand, Markup, code, join, plain
from bot.training.offers.service import Accepted, Offered, cache_command
from bot.training.runs.replies import receipt
from bot.training.tables import Run

CONFIRM = "train.cache"


def offered(offer: Offered, format_command: FormatCommand) -> Reply:
    """The cost of caching the data of a run, with the button that confirms both."""
    names = list(dict.fromkeys(each.estimate.content.reference for each in offer.caches))
    them, are = ("it", "is") if len(names) == 1 else ("them", "are")
    listed = " and ".join(names)
    by_hand = [
        code(format_command(cache_command(each.estimate.content.reference, each.estimate.cluster)))
        for each in offer.caches
    ]
    clusters = dict.fromkeys(each.estimate.cluster for each in offer.caches)
    on = f" on cluster {' and '.join(clusters)}" if any(clusters) else ""
    card = Card(
        title=f"Cache {listed} and run {offer.run}?",
        lines=(
            plain(f"{listed} {are} not cached{on}. The run would wait for the copy automatically."),
            join(f"To use other options, such as a layout, cache {them} first: ",
                 *_between(by_hand), "."),
            plain("Nothing has been done yet. This is what it takes:"),
        ),
        facts=tuple(_facts(offer.caches)),
    )  # fmt: skip
    button = Button(CONFIRM, f"Cache {them} and run", offer.offer_id, "primary")
    return Reply(card=card, buttons=(button,), is_question=True)


def accepted(done: Accepted | Run, format_command: FormatCommand) -> Reply:
    """The answer to a confirmation; or the run that it already submitted."""
    if isinstance(done, Run):
        show = code(format_command(f"train show {done.reference}"))
        return Reply(
            (join(code(done.reference), " was already submitted with this button. ", show,
                  " shows it."),)
        )  # fmt: skip
    undo = format_command(f"train stop {done.run.name}")
    return Reply((*map(_cached, done.caches), *receipt(done.run, undo)))


def _cached(found: CacheFound) -> Markup:
    cache: Cache = found.cache
    if found.is_new:
        return plain(f"Caching {cache.reference} on {cache.place}."
                     " Its card in this channel follows it.")  # fmt: skip
    how = "is already cached" if cache.phase == CachePhase.READY else "is already being cached"
    return plain(f"{cache.reference} {how} on {cache.place}.")


def _facts(caches: Sequence[CacheOffer]) -> list[tuple[str, Markup]]:
    facts: list[tuple[str, Markup]] = []
    for each in caches:
        if len(caches) > 1:
            facts.append(("Version", code(each.estimate.content.reference)))
        facts.extend(costs(each))
    return facts


def _between(parts: Sequence[Markup]) -> list[Markup]:
    return [join(" and " if number else "", each) for number, each in enumerate(parts)]
