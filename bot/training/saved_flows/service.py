"""The operations on saved flows: checks requests and writes rows, without calls to clusters."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

import msgspec
from sqlmodel import Session, col, select

from bot.audit import Actor, record
from bot.config import Settings
from bot.errors import ConflictError, NotFoundError, UserError
from bot.people.access import Caller
from bot.reconcile.due import wake
from bot.schedule import upcoming
from bot.slack.markup import FormatCommand
from bot.slack.messages import refresh_cards, show_card
from bot.training.kinds import gpus_of
from bot.training.placing.choosing import cost_of
from bot.training.queueing import queue_for
from bot.training.saved_flows.argo import ArgoStep, argo_text
from bot.training.saved_flows.objects import objects_of
from bot.training.saved_flows.starting import FlowStarter, StartedFlow, as_run
from bot.training.saved_flows.steps import claims_of, steps_from, steps_of, with_claims
from bot.training.saved_flows.tables import FLOW, Flow, FlowPhase
from bot.training.service import TrainingService
from bot.training.spec import to_row
from bot.training.submission.new_run import NameTakenError
from bot.training.sweeps.service import SweepService
from bot.training.tables import Run

SHORTEST = timedelta(minutes=10)
_HOUR = 3600


@dataclass(frozen=True)
class FlowCosts:
    """What the runs of a flow cost an hour, by step; None is unknown, 0 is without GPUs.

    `most` is what they cost at most, if the time of each run with GPUs is limited.
    """

    hourly: dict[str, Decimal | None]
    most: Decimal | None
    currency: str


class FlowService:
    """The operations that handlers call; each writes in the transaction of the caller.

    `runs` and `sweeps` submit runs. `installation` is in the labels of their objects.
    `format_command` formats a command.
    """

    def __init__(
        self,
        settings: Callable[[], Settings],
        runs: TrainingService,
        sweeps: SweepService,
        installation: str,
        format_command: FormatCommand,
    ) -> None:
        self._settings = settings
        self._installation = installation
        self._runs = runs
        self.starter = FlowStarter(settings, runs, sweeps)
        self._format_command = format_command

    def save(self, session: Session, caller: Caller, name: str, run: Run, now: datetime) -> Flow:
        """Saves the run with all that are connected with it; ConflictError for a taken name."""
        team = caller.team or ""
        there = self._named(session, team, name)
        if there is not None:
            raise ConflictError(
                f"{team} has a flow {name} already, of {_names(there)}.",
                f"Choose another name, or delete it first:"
                f" `{self._format_command(f'train flow delete {name}')}`.",
            )
        steps = steps_from(session, run)
        flow = Flow(
            workspace_id=caller.workspace_id,
            team=team,
            name=name,
            person=caller.person,
            channel=caller.channel,
            steps=[msgspec.to_builtins(each) for each in steps],
            asked_at=now,
        )
        session.add(flow)
        session.flush()
        self._audit(session, caller, "flow.save", flow, {"runs": _names(flow)}, now)
        return flow

    def find(self, session: Session, team: str, name: str) -> Flow:
        """The saved flow of that name; NotFoundError lists the others."""
        flow = self._named(session, team, name)
        if flow is None:
            known = ", ".join(each.name for each in self.listing(session, team))
            example = self._format_command(f"train flow save {name} train")
            raise NotFoundError(
                f"{team} has no flow {name}.",
                f"It has: {known}." if known else f"Save one from a run: `{example}`.",
            )
        return flow

    def listing(self, session: Session, team: str) -> Sequence[Flow]:
        """A team's saved flows, by name."""
        own = select(Flow).where(col(Flow.team) == team, col(Flow.ended_at).is_(None))
        return session.exec(own.order_by(col(Flow.name))).all()

    def start(
        self, session: Session, caller: Caller, flow: Flow, suffix: str, now: datetime
    ) -> StartedFlow:
        """Submits all runs of a flow; UserError if one of them is refused."""
        try:
            return self.starter.start(session, caller, flow, suffix, now)
        except NameTakenError as error:
            again = self._format_command(f"train flow run {flow.name} --suffix {_next(suffix)}")
            error.hint = (
                f"Wait until it ends, stop it with `{error.stop}`, or start the flow under other"
                f" names: `{again}`. No run was submitted."
            )
            raise

    def delete(self, session: Session, caller: Caller, flow: Flow, now: datetime) -> None:
        """Deletes a flow with its schedule; its runs stay."""
        _unscheduled(flow, FlowPhase.DELETED)
        flow.ended_at = now
        self._note(session, caller, "flow.delete", flow, {}, now)

    def schedule(
        self,
        session: Session,
        caller: Caller,
        flow: Flow,
        pattern: tuple[str, str | None],
        now: datetime,
    ) -> datetime:
        """Has a flow start at each slot of a cron pattern, for the caller; its first two slots.

        `pattern` is the cron pattern and its zone, by default the team's. UserError if it never
        occurs, or too often.
        """
        cron, zone = pattern
        zone = zone or self._settings().teams[flow.team].time_zone
        slots = upcoming(cron, zone, now, SHORTEST)
        _unscheduled(flow, FlowPhase.SCHEDULED)
        flow.cron, flow.time_zone, flow.next_at = " ".join(cron.split()), zone, slots[0]
        flow.scheduler, flow.channel = caller.person, caller.channel
        facts = {"cron": flow.cron, "zone": zone}
        self._note(session, caller, "flow.schedule", flow, facts, now)
        show_card(session, flow.subject, flow.channel, now, live=False, owner=caller.person)
        wake(session, FLOW, flow.id, FLOW, now)
        return slots[1]

    def unschedule(self, session: Session, caller: Caller, flow: Flow, now: datetime) -> str:
        """Stops the schedule of a flow, and returns its options; its runs go on."""
        if not flow.cron:
            example = f'train flow schedule {flow.name} --cron "0 2 * * *"'
            raise ConflictError(
                f"Flow {flow.name} has no schedule.",
                f"To start it every night: `{self._format_command(example)}`.",
            )
        facts = {"cron": flow.cron}
        options = flow.schedule_options(self._settings().teams[flow.team].time_zone)
        _unscheduled(flow, FlowPhase.SAVED)
        self._note(session, caller, "flow.unschedule", flow, facts, now)
        return options

    def costs(self, session: Session, caller: Caller, flow: Flow) -> FlowCosts:
        """What the flow costs by today's prices, as far as these are known."""
        steps = steps_of(flow.steps)
        hourly: dict[str, Decimal | None] = {}
        for each in steps:
            try:
                run = as_run(caller, each, "", {}, flow.asked_at)
                planned = self._runs.planned(session, caller, run)
                hourly[each.name] = cost_of(planned, self._settings().training.prices)
            except UserError:
                # A template or a cluster that the team no longer has.
                hourly[each.name] = None
        limits = {each.name: each.spec.time_limit_seconds for each in steps if gpus_of(each.spec)}
        most = Decimal(0)
        for name, seconds in limits.items():
            price = hourly[name]
            if price is None or seconds is None:
                return FlowCosts(hourly, None, self._settings().training.prices.currency)
            most += price * seconds / _HOUR
        return FlowCosts(hourly, most, self._settings().training.prices.currency)

    def argo(self, session: Session, caller: Caller, flow: Flow) -> str:
        """The flow as a Workflow of Argo, in YAML; ConflictError if it cannot be one."""
        claims: dict[str, str] = {}
        steps, places = list[ArgoStep](), set[tuple[str, str]]()
        for number, step in enumerate(steps_of(flow.steps)):
            run = as_run(caller, with_claims(step, claims), "", {}, flow.asked_at)
            planned = self._runs.planned(session, caller, run)
            team, engine = planned.team, planned.engine
            if engine is None:
                raise ConflictError(f"Cluster {team.cluster} does not respond.", "Try again later.")
            places.add((team.cluster, team.namespace))
            # Letters and digits only, so that it is valid in names and found again in texts.
            run.id = run.job_name = f"qmflow{number}x{run.id[-10:]}"
            run.namespace, run.queue = team.namespace, queue_for(planned.spec, team)
            run.number = 1  # its annotation has the name alone
            run.spec = to_row(planned.spec)
            claims |= claims_of(step, run.job_name, planned.spec)
            made = objects_of(run, engine, self._installation)
            steps.append(ArgoStep(step, run.job_name, made))
        if len(places) > 1:
            clusters = ", ".join(sorted(cluster for cluster, _ in places))
            raise ConflictError(
                f"The runs of flow {flow.name} are on several clusters: {clusters}.",
                "A Workflow runs in one: submit all of its runs there, and save them.",
            )
        ((_, namespace),) = places
        return argo_text(flow, namespace, steps)

    def _named(self, session: Session, team: str, name: str) -> Flow | None:
        own = select(Flow).where(col(Flow.team) == team, col(Flow.name) == name)
        return session.exec(own.where(col(Flow.ended_at).is_(None))).first()

    def _note(
        self,
        session: Session,
        caller: Caller,
        verb: str,
        flow: Flow,
        facts: dict[str, str],
        now: datetime,
    ) -> None:
        session.add(flow)
        session.flush()
        self._audit(session, caller, verb, flow, facts, now)
        refresh_cards(session, flow.subject, live=False)

    def _audit(
        self,
        session: Session,
        caller: Caller,
        verb: str,
        flow: Flow,
        facts: dict[str, str],
        now: datetime,
    ) -> None:
        actor = Actor(caller.workspace_id, caller.person, caller.channel, caller.team)
        record(session, actor, verb, (FLOW, flow.id), {"name": flow.name} | facts, at=now)


def _next(suffix: str) -> str:
    """A suffix to try in place of one whose names are in use: v3 after v2."""
    found = re.fullmatch("v([0-9]{1,4})", suffix)
    return f"v{int(found[1]) + 1}" if found else "v2"


def _names(flow: Flow) -> str:
    return ", ".join(each.name for each in steps_of(flow.steps))


def _unscheduled(flow: Flow, phase: FlowPhase) -> None:
    """Clears what belongs to a schedule, and sets the phase."""
    flow.phase, flow.cron, flow.time_zone, flow.next_at = phase, "", "", None
    flow.scheduler, flow.skipped = None, 0
    flow.reason = flow.unblock = flow.obstacle = flow.trouble = ""
