"""What lies between the row of a sweep and its runs: each made of the other. Pure: no I/O."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import msgspec

from bot.database.columns import new_id
from bot.people.access import Caller
from bot.training.placing.limits import CostlyRun, ExcessCost, asked_again
from bot.training.spec import RunSpec, to_row
from bot.training.submission.new_run import AskedRun
from bot.training.submission.sweep_terms import SweepTerms, live_at_once
from bot.training.sweeps.asking import spec_of_cell
from bot.training.sweeps.cells import cell_name, parameters_of
from bot.training.sweeps.tables import Sweep
from bot.training.templates.candidates import Candidate


def run_of(sweep: Sweep, wanted: AskedRun, number: int) -> AskedRun:
    """The run of a cell."""
    parameters = parameters_of(sweep)
    places = tuple(
        msgspec.structs.replace(each, spec=spec_of_cell(each.spec, sweep.id, parameters, number))
        for each in wanted.places
    )
    spec = spec_of_cell(wanted.spec, sweep.id, parameters, number)
    return replace(wanted, name=cell_name(sweep.name, number), spec=spec, places=places)


def asked_runs(sweep: Sweep) -> AskedRun:
    """What a sweep asks for: a run with placeholders."""
    spec = msgspec.convert(sweep.spec, RunSpec)
    at_once = live_at_once(parameters_of(sweep), sweep.at_most)
    return AskedRun(sweep.name, sweep.cluster, spec, places_of(sweep), at_once)


def places_of(sweep: Sweep) -> tuple[Candidate, ...]:
    """The compute templates where its runs may wait, in order; none if it names none."""
    return tuple(msgspec.convert(each, Candidate) for each in sweep.places)


def row_of(
    caller: Caller,
    wanted: AskedRun,
    terms: SweepTerms,
    approved: Sequence[ExcessCost],
    now: datetime,
) -> Sweep:
    """The row of a new sweep."""
    return Sweep(
        id=new_id(),
        workspace_id=caller.workspace_id,
        team=caller.team or "",
        name=wanted.name,
        person=caller.person,
        channel=caller.channel,
        cluster=wanted.cluster,
        spec=to_row(wanted.spec),
        approved=[msgspec.to_builtins(each) for each in approved],
        asked_at=now,
        since=now,
        **terms.columns,
    )


def costly_sweep(first: CostlyRun, wanted: AskedRun, terms: SweepTerms) -> CostlyRun:
    """The sweep that needs an approval, by its first run: with the data that this would read."""
    data = first.places[0].spec.data
    places = tuple(
        msgspec.structs.replace(each, spec=asked_again(each.spec, data))
        for each in priced(wanted.places, first.places)
    )
    return CostlyRun(wanted.name, places, first.costs, terms)


def priced(asked: Sequence[Candidate], known: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """The places as they were asked for, with the prices that are known of a run there."""
    return tuple(
        msgspec.structs.replace(each, price=there.price, hourly=there.hourly)
        for each, there in zip(asked, known, strict=True)
    )
