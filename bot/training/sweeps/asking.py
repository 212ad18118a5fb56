"""What a submission with `--sweep` asks for: checked, with its outlook in numbers. Pure: no I/O."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import msgspec

from bot.config import Settings
from bot.errors import LimitError, UsageError
from bot.slack.grammar.container_parameters import SweptParameter
from bot.slack.grammar.parameters import LONGEST_NAME
from bot.training.kinds import gpus_of
from bot.training.kinds.interactive import SESSIONS
from bot.training.logs.bandwidth import AVERAGE, MAXIMUM
from bot.training.logs.results import USUAL
from bot.training.spec import RunSpec, SweepCell
from bot.training.submission.building import Submission, refuse_secrets
from bot.training.submission.outlook import HOUR
from bot.training.submission.sweep_terms import SweepTerms
from bot.training.sweeps.cells import cell_name
from bot.training.sweeps.early import USUAL_OTHERS
from bot.training.sweeps.grid import (
    count_of,
    filled_env,
    filled_words,
    unused,
    values_of,
)
from bot.training.templates.candidates import Candidate
from bot.training.wording import gpus as gpus_words
from bot.training.wording import listed, money_an_hour

MOST_PARAMETERS = 6
_LONGEST = LONGEST_NAME - len("-99")
_OPTIONS = ("at_most", "metric", "best", "stop_early", "warm_up", "min_cells")


@dataclass(frozen=True)
class SweepOutlook:
    """How many cells a sweep has, how many of them are live at a time, and what one requests.

    `on` are the compute templates where its runs may wait.
    """

    cells: int
    at_once: int
    spec: RunSpec
    on: tuple[Candidate, ...] = ()
    currency: str = ""

    @property
    def sentence(self) -> str:
        """All of it in numbers."""
        each = gpus_of(self.spec)
        if not each:
            return f"{self.cells} cells without GPUs, at most {self.at_once} at once."
        return (
            f"{self.cells} cells of {gpus_words(each)} each, {gpus_words(each * self.cells)} in"
            f" total; at most {self.at_once} at once, {gpus_words(each * self.at_once)}."
        )

    @property
    def costs(self) -> Sequence[str]:
        """What its runs cost together on each template, as sentences."""
        return tuple(self._cost(each) for each in self.on if each.hourly)

    def _cost(self, place: Candidate) -> str:
        hourly, limit = place.hourly or Decimal(0), place.spec.time_limit_seconds
        together = money_an_hour(hourly * self.at_once, self.currency)
        said = f"On {place.template}, {self.at_once} x {hourly:,.2f} = {together} at most"
        if not limit:
            return f"{said}."
        total = hourly * limit / HOUR * self.cells
        cells = f"{self.cells} cell{'' if self.cells == 1 else 's'}"
        return (
            f"{said}, and at most {total:,.2f} {self.currency} for {cells} within the time limit."
        )


def refuse_lonely(asked: Submission) -> None:
    """UsageError for options of sweeps without a sweep."""
    given = next((name for name in _OPTIONS if getattr(asked, name) is not None), None)
    if given is not None and not asked.sweep:
        option = f"--{given.replace('_', '-')}"
        raise UsageError(
            f"`{option}` needs `--sweep`: it is an option of sweeps.",
            "Add a parameter with its values, for example `--sweep lr=0.1,0.01`.",
        )


def as_cell(asked: Submission, number: int) -> Submission:
    """The submission of one cell."""
    values = values_of(asked.sweep, number)
    return replace(
        asked,
        name=cell_name(asked.name, number),
        command=filled_words(asked.command, values),
        worker_command=filled_words(asked.worker_command or (), values) or None,
        env=filled_env(asked.env, values),
    )


def spec_of_cell(
    spec: RunSpec, sweep: str, parameters: Sequence[SweptParameter], number: int
) -> RunSpec:
    """The spec of one cell, from that of its sweep."""
    values = values_of(parameters, number)
    return msgspec.structs.replace(
        spec,
        command=filled_words(spec.command, values),
        worker_command=filled_words(spec.worker_command, values),
        env=filled_env(spec.env, values),
        cell=SweepCell(sweep=sweep, number=number),
    )


def refuse_unfit(asked: Submission, team: str, most: int) -> None:
    """UserError if the parameters of a sweep, its name or its size do not fit."""
    _refuse_twice(asked.sweep)
    refuse_many_cells(asked.sweep, team, most)
    if len(asked.name) > _LONGEST:
        raise UsageError(
            f"{asked.name} is too long for a sweep: its runs are called {asked.name}-1 and so on.",
            f"Use a name of at most {_LONGEST} characters.",
        )
    if asked.kind == SESSIONS:
        raise UsageError(
            "`--kind interactive` cannot be swept: a session does not end by itself.",
            "Leave `--sweep` out, or use another kind.",
        )
    _refuse_unused(asked)
    for number in range(1, count_of(asked.sweep) + 1):
        refuse_secrets(as_cell(asked, number))


def refuse_many_cells(parameters: Sequence[SweptParameter], team: str, most: int) -> None:
    """LimitError if a sweep has more cells than the team's sweeps may have."""
    cells = count_of(parameters)
    if cells > most:
        product = " x ".join(str(len(each.values)) for each in parameters)
        counted = f"{product} = {cells}" if len(parameters) > 1 else str(cells)
        raise LimitError(
            f"{counted} cells exceed the limit of {team} for one sweep: {most}.",
            "Use fewer values, or ask a platform admin for a higher `limits.sweep_cells`.",
        )


def metric_of(asked: Submission, settings: Settings) -> str:
    """The name of the result that tells which cell is best; empty if none is asked for.

    UsageError if the bot does not read that result, or if the command does not say which is best.
    """
    _refuse_unstopping(asked)
    if asked.metric is None and asked.best is None:
        return ""
    if asked.metric is None or asked.best is None:
        given, other = ("metric", "best") if asked.best is None else ("best", "metric")
        raise UsageError(
            f"`--{given}` needs `--{other}`.",
            "Write both, for example `--metric accuracy --best max` or `--metric loss --best min`.",
        )
    known = dict.fromkeys(_results(settings))
    found = next((each for each in known if each.lower() == asked.metric.lower()), None)
    if found is None:
        raise UsageError(
            f"No result {asked.metric} is read from logs.",
            f"These are: {', '.join(known)}. A platform admin can add others with"
            " `training.results`.",
        )
    return found


def terms_of(asked: Submission, settings: Settings) -> SweepTerms:
    """The terms of a sweep; UserError if the bot cannot tell which of its cells is best."""
    return SweepTerms(
        parameters=asked.sweep,
        at_most=asked.at_most,
        metric=metric_of(asked, settings),
        best=asked.best or "",
        stop_early=asked.stop_early or "",
        warm_up=asked.warm_up,
        min_cells=_others(asked),
    )


def outlook_of(
    terms: SweepTerms, spec: RunSpec, on: Sequence[Candidate], currency: str
) -> SweepOutlook:
    """What the sweep comes to; `on` are the compute templates where its runs may wait."""
    return SweepOutlook(terms.cells, terms.at_once, spec, tuple(on), currency)


def _others(asked: Submission) -> int:
    """With how many other cells a cell is compared at least; 0 if none is stopped early."""
    return (asked.min_cells or USUAL_OTHERS) if asked.stop_early else 0


def _refuse_unstopping(asked: Submission) -> None:
    """UsageError if the options by which cells are stopped early do not fit."""
    given = next(
        (each for each in ("warm_up", "min_cells") if getattr(asked, each) is not None), ""
    )
    if given and not asked.stop_early:
        raise UsageError(
            f"`--{given.replace('_', '-')}` needs `--stop-early`.",
            "Add it, for example `--stop-early --warm-up 100`.",
        )
    if asked.stop_early and (asked.metric is None or asked.best is None):
        raise UsageError(
            "`--stop-early` needs `--metric` and `--best`, which say what the worst runs are.",
            "Add both, for example `--metric loss --best min`.",
        )
    cells, others = count_of(asked.sweep), _others(asked)
    if others >= cells:
        fewer = f", or use `--min-cells {cells - 1}`" if cells > 1 else ""
        raise UsageError(
            f"`--stop-early` compares a run with at least {others} others, and the sweep has"
            f" {cells} cell{'' if cells == 1 else 's'}.",
            f"Sweep over more values{fewer}.",
        )


def _results(settings: Settings) -> Iterator[str]:
    yield from (name for name, _ in USUAL)
    yield from (each.name for each in settings.training.results)
    yield from (AVERAGE, MAXIMUM)


def _refuse_twice(parameters: Sequence[SweptParameter]) -> None:
    if len(parameters) > MOST_PARAMETERS:
        raise LimitError(
            f"{len(parameters)} parameters exceed the limit for one sweep: {MOST_PARAMETERS}.",
            "Leave some out, and write their values into the command.",
        )
    twice = _twice([each.variable for each in parameters])
    if twice is not None:
        name = next(each.name for each in parameters if each.variable == twice)
        raise UsageError(
            f"`--sweep` names {name} twice.",
            f"Write all of its values at once: `--sweep {name}=0.1,0.01`.",
        )
    for each in parameters:
        value = _twice(each.values)
        if value is not None:
            raise UsageError(
                f"`--sweep {each.name}` has the value {value} twice.", "Write each value once."
            )


def _twice(words: Collection[str]) -> str | None:
    return next((word for word, count in Counter(words).items() if count > 1), None)


def _refuse_unused(asked: Submission) -> None:
    texts = (*asked.command, *(asked.worker_command or ()), *(each.value for each in asked.env))
    lost = unused(asked.sweep, texts)
    if lost is not None:
        names = listed([f"`--{each.name} {{{each.name}}}`" for each in asked.sweep])
        raise UsageError(
            f"Nothing in the command uses {lost.name}, so all cells would do the same.",
            f"Write placeholders where the values belong: {names}. For a program that reads its"
            f" environment: `--env {lost.name.upper()}={{{lost.name}}}`.",
        )
