"""The cells of a sweep with their runs: how each stands, and which is best."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from sqlalchemy import select
from sqlmodel import Session, col

from bot.slack.grammar.container_parameters import SweptParameter
from bot.training.sweeps.grid import count_of, values_of
from bot.training.sweeps.tables import Sweep
from bot.training.tables import BAD_ENDS, GOOD_ENDS, NOT_ADMITTED, Run, RunPhase

MAX, MIN = "max", "min"
_RANKED, _UNMEASURED, _LOST, _ABSENT = range(4)


@dataclass(frozen=True)
class Cell:
    """A cell of a sweep: its number, its values by parameter, and its newest run, if any."""

    number: int
    values: dict[str, str]
    run: Run | None

    @property
    def is_live(self) -> bool:
        """Whether its run has not ended."""
        return self.run is not None and self.run.is_live

    @property
    def is_lost(self) -> bool:
        """Whether its run has ended without success."""
        return self.run is not None and not self.run.is_live and self.run.phase not in GOOD_ENDS


@dataclass(frozen=True)
class Counts:
    """How many cells of a sweep stand how; `absent` ones have no run."""

    succeeded: int
    running: int
    waiting: int
    failed: int
    stopped: int
    absent: int

    @property
    def live(self) -> int:
        """How many have not ended."""
        return self.running + self.waiting


def parameters_of(sweep: Sweep) -> tuple[SweptParameter, ...]:
    """The parameters of a sweep with their values."""
    return tuple(SweptParameter(name, tuple(values)) for name, values in sweep.parameters)


def cell_name(sweep: str, number: int) -> str:
    """The name of the runs of a cell."""
    return f"{sweep}-{number}"


def cells_of(session: Session, sweep: Sweep) -> tuple[Cell, ...]:
    """All cells in the order of their numbers; a run that was submitted again counts last."""
    parameters = parameters_of(sweep)
    numbers = range(1, count_of(parameters) + 1)
    found = {
        run.spec["cell"]["number"]: run
        for run in session.scalars(
            select(Run)
            .where(col(Run.team) == sweep.team)
            .where(col(Run.name).in_([cell_name(sweep.name, number) for number in numbers]))
            .where(col(Run.spec)["cell"]["sweep"].as_string() == sweep.id)
            .order_by(col(Run.number))
        )
    }
    return tuple(
        Cell(number, values_of(parameters, number), found.get(number)) for number in numbers
    )


def counts_of(cells: Sequence[Cell]) -> Counts:
    """How many of the cells stand how."""
    runs = [each.run for each in cells if each.run is not None]
    ended = [run.phase for run in runs if not run.is_live]
    live = [run.phase for run in runs if run.is_live]
    return Counts(
        succeeded=sum(phase in GOOD_ENDS for phase in ended),
        running=sum(phase not in NOT_ADMITTED for phase in live),
        waiting=sum(phase in NOT_ADMITTED for phase in live),
        failed=sum(phase in BAD_ENDS for phase in ended),
        stopped=sum(phase == RunPhase.STOPPED for phase in ended),
        absent=len(cells) - len(runs),
    )


def measured(sweep: Sweep, cell: Cell) -> Decimal | None:
    """The last value of the sweep's metric in the log of a cell; None if there is none."""
    text = cell.run.results.get(sweep.metric, "") if cell.run is not None else ""
    words = text.replace(",", "").split()
    try:
        value = Decimal(words[0].rstrip("%")) if words else None
    except InvalidOperation:
        return None
    return value if value is not None and value.is_finite() else None


def ranked(sweep: Sweep, cells: Sequence[Cell]) -> list[Cell]:
    """The cells, best first: those measured that did not fail, then those that may still be."""
    sign = -1 if sweep.best == MAX else 1

    def rank(cell: Cell) -> tuple[int, Decimal, int]:
        value = measured(sweep, cell)
        return _group(cell, value), sign * (value or Decimal(0)), cell.number

    return sorted(cells, key=rank)


def best_of(sweep: Sweep, cells: Sequence[Cell]) -> Cell | None:
    """The best cell so far; None without a metric, or before any value was read."""
    first = ranked(sweep, cells)[0]
    return first if _group(first, measured(sweep, first)) == _RANKED else None


def _group(cell: Cell, value: Decimal | None) -> int:
    if cell.run is None:
        return _ABSENT
    if cell.is_lost:
        return _LOST
    return _UNMEASURED if value is None else _RANKED
