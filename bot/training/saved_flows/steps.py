"""The steps of a saved flow: runs that are connected by `--after`, with their specs and edges."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

import msgspec
from msgspec.structs import replace
from sqlalchemy import String, cast, select
from sqlmodel import Session, col

from bot.errors import ConflictError, LimitError
from bot.training.flows.awaited import awaited_of
from bot.training.kinds.pods.volumes import mounts_of
from bot.training.spec import RunSpec, asked_spec
from bot.training.tables import Run
from bot.training.templates.candidates import Candidate, candidates_of
from bot.training.wording import listed

MOST = 30
"""The most runs of one flow: a receipt and a card have room for them."""


class StepEdge(msgspec.Struct, frozen=True, kw_only=True):
    """A step that another one waits for: its success, or `is_any` end."""

    step: str
    is_any: bool = False

    @property
    def spelled(self) -> str:
        """The edge as it is written after `--after`."""
        return f"{self.step}:any" if self.is_any else self.step


class FlowStep(msgspec.Struct, frozen=True, kw_only=True):
    """A run of a flow, as it was submitted when the flow was saved.

    `root_name` is the name of that run's root, after which the PVCs are called that were created
    for it. `candidates` are the compute templates that it named, in order.
    """

    name: str
    root_name: str
    cluster: str
    spec: RunSpec
    after: tuple[StepEdge, ...] = ()
    candidates: tuple[Candidate, ...] = ()


# msgspec looks into a class when it first meets it, and a thread that meets it meanwhile crashes;
# so it meets this one here, while there is one thread.
msgspec.json.Decoder(FlowStep)


def steps_of(rows: Sequence[Mapping[str, Any]]) -> tuple[FlowStep, ...]:
    """The steps that a flow's row keeps; each comes after those that it waits for."""
    return tuple(msgspec.convert(each, FlowStep) for each in rows)


def steps_from(session: Session, run: Run) -> tuple[FlowStep, ...]:
    """The run with all that it waits for, all that waits for it, and so on, as steps.

    Of runs with one name the newest counts. Sweeps' cells become runs with the values of the cell.

    Raises:
        LimitError: they are too many.
        ConflictError: the newest runs of their names wait for each other in a circle.
    """
    runs = _connected(session, run)
    newest: dict[str, Run] = {}
    for each in sorted(runs.values(), key=lambda each: each.number):
        newest[each.name] = each
    if len(newest) > MOST:
        raise LimitError(
            f"{run.reference} is connected with {len(newest) - 1} other runs, and a flow has at"
            f" most {MOST}.",
            "Save a part of them: submit the runs that you need again, and save those.",
        )
    edges = {name: _edges(session, each, newest) for name, each in newest.items()}
    order = _ordered(run, {name: [edge.step for edge in each] for name, each in edges.items()})
    return tuple(_step(newest[name], edges[name]) for name in order)


def with_claims(step: FlowStep, claims: Mapping[str, str]) -> FlowStep:
    """The step with PVCs renamed: those that earlier runs of a flow are to create."""
    return replace(
        step,
        spec=_renamed(step.spec, claims),
        candidates=tuple(replace(each, spec=_renamed(each.spec, claims)) for each in
                         step.candidates),
    )  # fmt: skip


def claims_of(step: FlowStep, root_name: str, spec: RunSpec) -> dict[str, str]:
    """The PVC that a run has in place of each that was created for the saved one.

    `root_name` and `spec` are those of the run.
    """
    before = mounts_of(step.root_name, step.spec)[len(step.spec.mounts) :]
    now = {each.path: each.claim for each in mounts_of(root_name, spec)}
    return {each.claim: now[each.path] for each in before}


def _connected(session: Session, run: Run) -> dict[str, Run]:
    """The run and those connected with it by edges in either direction, by id."""
    found: dict[str, Run] = {}
    left = [run]
    while left:
        each = left.pop()
        if each.id in found:
            continue
        found[each.id] = each
        waited_for = awaited_of(session, asked_spec(each).after)
        left += [one.run for one in waited_for if one.run is not None]
        left += _waiting_for(session, each)
    return found


def _waiting_for(session: Session, run: Run) -> Iterator[Run]:
    """The runs that were submitted to wait for this one, or for one that it continues."""
    there = select(Run).where(
        col(Run.team) == run.team, cast(col(Run.spec), String).contains(f'"{run.name}')
    )
    for each in session.scalars(there):
        if not each.spec.get("after"):
            continue
        awaited = awaited_of(session, asked_spec(each).after)
        if any(one.run is not None and one.run.id == run.id for one in awaited):
            yield each


def _edges(session: Session, run: Run, names: Collection[str]) -> tuple[StepEdge, ...]:
    """What a run waits for; several runs of one name are one step."""
    found: dict[str, StepEdge] = {}
    for each in awaited_of(session, asked_spec(run).after):
        name, is_any = each.predecessor.name, each.predecessor.is_any
        if name in names and name != run.name and (name not in found or not is_any):
            found[name] = StepEdge(step=name, is_any=is_any)
    return tuple(found.values())


def _ordered(run: Run, edges: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    try:
        return tuple(TopologicalSorter(edges).static_order())
    except CycleError as error:
        names = sorted(set(error.args[1]))
        raise ConflictError(
            f"The newest runs of these names wait for each other in a circle: {listed(names)}.",
            f"Submit them again in one go, then save that flow with one of the new runs instead of"
            f" {run.reference}.",
        ) from None


def _step(run: Run, after: tuple[StepEdge, ...]) -> FlowStep:
    kept = candidates_of(run)
    return FlowStep(
        name=run.name,
        root_name=run.job_name,
        cluster=run.cluster,
        spec=_template(asked_spec(run)),
        after=after,
        candidates=tuple(replace(each, spec=_template(each.spec)) for each in kept),
    )


def _template(spec: RunSpec) -> RunSpec:
    """The spec without what belongs to one run only."""
    return replace(spec, after=(), cell=None, origin=None)


def _renamed(spec: RunSpec, claims: Mapping[str, str]) -> RunSpec:
    mounts = tuple(each._replace(claim=claims.get(each.claim, each.claim)) for each in spec.mounts)
    keeps = spec.snapshot
    if keeps is not None and keeps.target in claims:
        keeps = replace(keeps, target=claims[keeps.target])
    return replace(spec, mounts=mounts, snapshot=keeps)
