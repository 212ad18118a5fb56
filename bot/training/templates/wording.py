"""Texts about the compute templates of runs: where a run waits, and when it moves on."""

from collections.abc import Iterator, Sequence

from bot.datasets.caches.using import DataReadiness
from bot.durations import format_duration
from bot.slack.markup import Markup, join, plain, when
from bot.training.tables import NOT_ADMITTED, Run, RunPhase
from bot.training.templates.candidates import Candidate, current, following, moves_at

_LAST = "It is the last of its templates, so it waits there until it is admitted."


def order_words(on: Sequence[Candidate], what: str = "It") -> Iterator[str]:
    """Where a new run waits, and what an hour costs in each place; nothing without templates.

    `what` waits there.
    """
    for number, each in enumerate(on, start=1):
        costs = f" It costs {each.price}." if each.price else ""
        is_last = number == len(on)
        how_long = "until it is admitted" if is_last else f"for {format_duration(each.after)}"
        place = f"{number}. " if len(on) > 1 else ""
        yield f"{place}{what} waits on {each.template} ({each.where}) {how_long}.{costs}"


def place_words(run: Run) -> str | None:
    """The fact on a card: the template of a run, with its place among those and its price."""
    here, count = current(run), len(run.candidates)
    if here is None:
        return None
    among = f"{run.candidate + 1} of {count}" if count > 1 else ""
    return ", ".join(filter(None, (here.template, among, here.price)))


def waiting_lines(run: Run) -> Iterator[Markup]:
    """Where a live run waits, and when it moves on; nothing without templates."""
    here, next_one = current(run), following(run)
    if here is None or not run.is_live or run.phase not in NOT_ADMITTED:
        return
    if run.moving_to is not None:
        to = run.candidates[run.moving_to]["template"]
        yield plain(f"It is leaving {here.template} for {to}: its objects in cluster"
                    f" {here.cluster} are deleted before it is created there.")  # fmt: skip
    elif run.phase in {RunPhase.AFTER, RunPhase.DATA}:
        yield plain(f"Then it waits on {here.template}, in {here.where}.")
    else:
        yield from _in_queue(run, here, next_one)
    if run.trouble and len(run.candidates) > 1 and (next_one or run.moving_to is not None):
        yield plain(f"It does not move on while cluster {here.cluster} does not respond: some of it"
                    " may still be there.")  # fmt: skip


def _in_queue(run: Run, here: Candidate, next_one: Candidate | None) -> Iterator[Markup]:
    there, at = f"It waits on {here.template}, in {here.where}", moves_at(run)
    if run.phase == RunPhase.PREEMPTED and len(run.candidates) > 1:
        yield plain(f"{there}. It was admitted there once, so it does not move on.")
    elif next_one is None:
        yield plain(f"{there}. {_LAST}" if len(run.candidates) > 1 else f"{there}.")
    elif run.trouble or run.obstacle.startswith(_no_way(next_one)):
        yield plain(f"{there}.")
    elif at is None:
        yield plain(f"{there}, for {format_duration(here.after)}; then it moves on to"
                    f" {next_one.template}.")  # fmt: skip
    else:
        yield join(plain(f"{there}, and moves on to {next_one.template} "), when(at),
                   plain(" if it is not admitted by then."))  # fmt: skip


def moved_words(before: Candidate, now: Candidate, waited: str, *, is_last: bool) -> str:
    """The message in the thread of a run that has moved."""
    costs = f", which costs {now.price}" if now.price else ""
    rest = "It waits there until it is admitted." if is_last else (
        f"It moves on again after {format_duration(now.after)}."
    )  # fmt: skip
    return (
        f"Not admitted on {before.template} in {waited}. It has left {before.where} and waits on"
        f" {now.template} now, in {now.where}{costs}. {rest}"
    )


def unreachable_words(next_one: Candidate) -> str:
    """Why a run whose time is up keeps its place: the next cluster does not respond."""
    return (
        f"{_no_way(next_one)}, because cluster {next_one.cluster} does not respond. It keeps its"
        " place in this queue and moves on when that cluster responds."
    )


def uncached_words(next_one: Candidate, data: DataReadiness) -> str:
    """Why a run whose time is up keeps its place: its data is not ready there; empty if it is."""
    there = f"on cluster {next_one.cluster}"
    if data.failed:
        return (
            f"{_no_way(next_one)}, because its data is not cached {there}. {data.failed} It keeps"
            " its place in this queue. To use that place, cache the data there and submit it again."
        )
    if data.waits:
        return (
            f"{_no_way(next_one)} yet. {data.waits} It keeps its place in this queue and moves on"
            f" when its data is cached {there}."
        )
    return ""


def _no_way(next_one: Candidate) -> str:
    return f"It cannot move on to {next_one.template}"
