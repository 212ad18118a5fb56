"""Scales elastic runs, while they run or with a restart."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from bot.audit import Actor, record
from bot.errors import ConflictError, LimitError, NotAllowedError, UserError
from bot.people.access import Access, Caller, Right
from bot.quotas import Engine
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.slack.markup import FormatCommand
from bot.slack.messages import refresh_cards
from bot.training.kinds import kind_of_run
from bot.training.kinds.choosing import can_scale
from bot.training.runs.sizes import is_elastic, is_refused, wanted_nodes
from bot.training.service import TrainingService
from bot.training.spec import asked_spec
from bot.training.tables import KIND, Run, RunIntent


@dataclass(frozen=True)
class Scaled:
    """A scaling in progress; `growing` says when further nodes are added, empty otherwise."""

    run: Run
    nodes: int
    growing: str


@dataclass(frozen=True)
class RestartOffer:
    """Why the nodes cannot change while it runs; it can be stopped and restarted instead."""

    run: Run
    nodes: int
    why: str


class ScalingService:
    """The operations that handlers call, and the controller when a run is to restart.

    `engines` returns the quota engine of a cluster, `words` formats a command.
    """

    def __init__(
        self,
        access: Access,
        training: TrainingService,
        engines: Callable[[str], Engine | None],
        format_command: FormatCommand,
    ) -> None:
        self._access = access
        self._training = training
        self._engines = engines
        self._format_command = format_command

    def scale(
        self, session: Session, caller: Caller, run: Run, nodes: int, now: datetime
    ) -> Scaled | RestartOffer:
        """Scales an elastic run to that many nodes, if its cluster can do that."""
        outcome = self.foresee(caller, run, nodes)
        if isinstance(outcome, RestartOffer):
            return outcome
        run.scale_to = nodes
        session.add(run)
        actor = Actor(caller.workspace_id, caller.person, caller.channel, run.team)
        facts = {"name": run.reference, "nodes": str(nodes)}
        record(session, actor, "run.scale", (KIND, run.id), facts, at=now)
        refresh_cards(session, run.subject, live=True)
        wake(session, KIND, run.id, cluster_lane(run.cluster), now)
        return outcome

    def foresee(self, caller: Caller, run: Run, nodes: int) -> Scaled | RestartOffer:
        """What scaling would do; UserError says why not. Nothing is changed."""
        self._refuse(caller, run, nodes)
        if is_refused(run) and run.unscaled_to == nodes:
            return RestartOffer(run, nodes, run.unscaled_why)
        why = self._fixed(run)
        if why:
            return RestartOffer(run, nodes, why)
        engine = self._engines(run.cluster)
        is_more = nodes > wanted_nodes(run)
        return Scaled(run, nodes, engine.words.growing if engine and is_more else "")

    def requeue(self, session: Session, caller: Caller, run: Run, nodes: int, now: datetime) -> Run:
        """Stops a run, and restarts it on that many nodes once it has ended."""
        self._refuse(caller, run, nodes)
        why = f"It starts again on {nodes} node{'' if nodes == 1 else 's'}."
        self._training.stop(session, caller, run, now, why)
        run.again_on = nodes
        session.add(run)
        return run

    def again(self, session: Session, run: Run, now: datetime) -> str:
        """Restarts a run that was stopped for that; returns the outcome as a sentence."""
        session.flush()
        try:
            who = run.stop_by or run.person
            caller = self._access.member(session, who, run.channel, run.team)
            self._access.require(caller, Right.RUN_SUBMIT)
            # It stays its owner's, unless they have left the team.
            member = self._access.member(session, run.person, run.channel, run.team)
            owner = run.person if member.may(Right.RUN_SUBMIT) else who
            started = self._training.resubmit(
                session, caller, run, now, nodes=run.again_on, owner=owner
            )
        except UserError as error:
            return f"It was not started again: {error.message} {error.hint}"
        return " ".join((f"Started again as {started.reference}.", *started.warnings))

    def _refuse(self, caller: Caller, run: Run, nodes: int) -> None:
        if run.person != caller.person and not caller.may(Right.RUN_STOP_ANY):
            raise NotAllowedError(
                f"{run.reference} belongs to <@{run.person}>.",
                "They can scale it, and so can a lead of the team or an admin.",
            )
        if not run.is_live or run.wanted == RunIntent.STOP or run.removing is not None:
            raise ConflictError(
                f"{run.reference} {'is ending' if run.is_live else 'has ended'}.",
                f"`{self._format_command(f'train resubmit {run.reference}')}` starts it again.",
            )
        if not can_scale(kind_of_run(run).name):
            raise ConflictError(
                f"{run.reference} keeps the nodes it started with: it is not an elastic run.",
                "Runs submitted with `--kind elastic --nodes 1:3` can change theirs.",
            )
        if nodes == wanted_nodes(run):
            raise ConflictError(
                f"{run.reference} already has {nodes} node{'' if nodes == 1 else 's'}.",
                f"`{self._format_command(f'train show {run.reference}')}`"
                " shows how many are running.",
            )
        self._refuse_beyond(run, nodes)

    def _refuse_beyond(self, run: Run, nodes: int) -> None:
        fewest, most = asked_spec(run).nodes_allowed
        if not is_elastic(run) or fewest <= nodes <= most:
            return
        if fewest == most:
            raise LimitError(
                f"{run.reference} was submitted with `--nodes {most}`, so it keeps them.",
                f"Submit it with a range, such as `--nodes 1:{max(most, 2)}`, to scale it.",
            )
        nearest = self._format_command(
            f"train scale {run.reference} {most if nodes > most else fewest}"
        )
        raise LimitError(
            f"{run.reference} may have {fewest} to {most} nodes: it was submitted with"
            f" `--nodes {fewest}:{most}`.",
            f"`{nearest}` is the furthest it can go.",
        )

    def _fixed(self, run: Run) -> str:
        """Why its cluster cannot change its nodes while it runs; empty if it can or may."""
        root, engine = kind_of_run(run).root, self._engines(run.cluster)
        if not is_elastic(run):
            return f"A {root.kind} keeps the nodes it starts with."
        if engine is None:
            return ""
        found = engine.queues.view.get(root.resource, run.job_name, run.namespace)
        if found is None or root.status(found).is_suspended:
            return ""
        return engine.runs.fixed(root.resource, found)
