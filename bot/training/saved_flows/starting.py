"""Starts a saved flow: submits all of its runs, or none."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

import msgspec
from msgspec.structs import replace
from sqlmodel import Session

from bot.audit import Actor, record
from bot.config import Settings
from bot.errors import NotFoundError, UserError
from bot.people.access import Caller
from bot.slack.grammar.parameters import short_name
from bot.slack.messages import refresh_cards
from bot.training.saved_flows.steps import FlowStep, claims_of, steps_of, with_claims
from bot.training.saved_flows.tables import FLOW, Flow
from bot.training.service import TrainingService
from bot.training.spec import Predecessor, RunSpec, to_row
from bot.training.submission.new_run import NameTakenError, Submitted
from bot.training.submission.presets import presets_of
from bot.training.sweeps.service import SweepService
from bot.training.tables import Run
from bot.training.templates.candidates import to_rows


@dataclass(frozen=True)
class StartedFlow:
    """The runs of a flow that were submitted together, in order."""

    flow: Flow
    runs: tuple[Submitted, ...]


@dataclass(frozen=True)
class FlowStarter:
    """Submits the runs of flows by `runs`; `sweeps` knows which names live sweeps have."""

    settings: Callable[[], Settings]
    runs: TrainingService
    sweeps: SweepService

    def start(
        self, session: Session, caller: Caller, flow: Flow, suffix: str, now: datetime
    ) -> StartedFlow:
        """Submits the runs of a flow for the caller, with `suffix` behind their names.

        Each is submitted as if it was resubmitted: under the current settings of the team, on the
        PVCs that exist. UserError if one is refused; the caller then undoes the others.
        """
        made: dict[str, Submitted] = {}
        claims: dict[str, str] = {}
        steps = steps_of(flow.steps)
        for step in steps:
            run = as_run(caller, with_claims(step, claims), suffix, made, now)
            with _naming(run.name):
                self._refuse_lost_preset(run.team, step.spec.preset)
                self.sweeps.refuse_name(session, run.team, run.name)
                made[step.name] = self.runs.resubmit(session, caller, run, now)
            new = made[step.name]
            claims |= claims_of(step, new.root_name, new.spec)
        if not suffix:
            flow.steps = [msgspec.to_builtins(each) for each in with_new_claims(steps, made)]
        flow.last_runs, flow.last_at = [each.run_id for each in made.values()], now
        flow.skipped, flow.reason, flow.unblock, flow.obstacle = 0, "", "", ""
        session.add(flow)
        session.flush()
        references = " ".join(each.reference for each in made.values())
        actor = Actor(caller.workspace_id, caller.person, caller.channel, caller.team)
        facts = {"name": flow.name, "runs": references}
        record(session, actor, "flow.start", (FLOW, flow.id), facts, at=now)
        refresh_cards(session, flow.subject, live=False)
        return StartedFlow(flow, tuple(made.values()))

    def _refuse_lost_preset(self, team: str, preset: str | None) -> None:
        """NotFoundError for a run with a preset that the team no longer has."""
        settings = self.settings()
        if preset is not None and preset not in presets_of(settings, settings.teams[team]):
            raise NotFoundError(
                f"There is no preset {preset} any more.",
                "Submit the runs with another preset, and save the flow from those.",
            )


def with_new_claims(
    steps: Sequence[FlowStep], made: Mapping[str, Submitted]
) -> tuple[FlowStep, ...]:
    """The steps with the PVCs of these runs in place of those that never came to be.

    Without this, each start would create PVCs of its own.
    """
    roots, claims = {}, dict[str, str]()
    for step in steps:
        new = made[step.name]
        if step.spec.volumes and len(new.spec.volumes) == len(step.spec.volumes):
            roots[step.name] = new.root_name
            claims |= claims_of(step, new.root_name, new.spec)
    return tuple(
        replace(with_claims(step, claims), root_name=roots.get(step.name, step.root_name))
        for step in steps
    )


def run_name(step: FlowStep, suffix: str) -> str:
    """The name of the run of a step."""
    return short_name(f"{step.name}-{suffix}") if suffix else step.name


def as_run(
    caller: Caller, step: FlowStep, suffix: str, made: Mapping[str, Submitted], now: datetime
) -> Run:
    """A step as a run that was submitted before, so that it can be submitted again.

    It is no row of the database. `made` are the runs of earlier steps, by step.
    """
    after = tuple(
        Predecessor(run=made[each.step].reference, run_id=made[each.step].run_id,
                    is_any=each.is_any)
        for each in step.after
        if each.step in made
    )  # fmt: skip

    def waiting(spec: RunSpec) -> RunSpec:
        return replace(spec, after=after)

    return Run(
        workspace_id=caller.workspace_id,
        team=caller.team or "",
        name=run_name(step, suffix),
        number=0,
        person=caller.person,
        channel=caller.channel,
        cluster=step.cluster,
        namespace="",
        queue="",
        job_name=step.root_name,
        spec=to_row(waiting(step.spec)),
        candidates=to_rows([replace(each, spec=waiting(each.spec)) for each in step.candidates]),
        asked_at=now,
        since=now,
        ended_at=now,
    )


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Has refusals within it name the run, and say that no other was submitted."""
    try:
        yield
    except UserError as error:
        if isinstance(error, NameTakenError):  # a flow has no other names of its own
            error.hint = f"Wait until it ends, or stop it with `{error.stop}`."
        error.message = f"Run {name} of the flow was refused: {error.message}"
        error.hint = f"{error.hint} No run was submitted.".strip()
        raise
