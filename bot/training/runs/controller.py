"""Reconciles runs: observes the cluster, takes one repeatable step, records the result."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlmodel import Session
from typing_extensions import override

from bot.cluster.cluster import Cluster
from bot.cluster.node_groups import afterwards
from bot.cluster.resources import NODES
from bot.datasets.caches.using import THERE, DataReadiness
from bot.errors import ClusterError
from bot.quotas import Engine
from bot.reconcile.controller import Step
from bot.reconcile.decisions import Wait
from bot.reconcile.frame import SOON, ControllerContext, RowController
from bot.slack.messages import refresh_interval
from bot.snapshots.run_snapshots import RunSnapshots
from bot.training import finding
from bot.training.flows.awaited import gate_of
from bot.training.kinds import dependents_of, is_known, kept_after_end, kind_of_run
from bot.training.logs import tails
from bot.training.logs.tails import Kept, LogReading
from bot.training.mishaps import FINE, FailureReason
from bot.training.queueing import queueing_of
from bot.training.records.network import with_adapters
from bot.training.records.references import instance_types
from bot.training.runs.act import act
from bot.training.runs.decide import (
    Await,
    Clear,
    CreateDependent,
    Decision,
    Delete,
    End,
    Prepare,
    RunObserved,
    Scale,
    UpdateStatus,
    decide,
    late_at,
)
from bot.training.runs.folders import FolderCheck
from bot.training.runs.observe import observe
from bot.training.runs.places import POLL, Places, QueuePosition
from bot.training.runs.record import Recorder, RunFindings
from bot.training.runs.timing import Limit, limit_of
from bot.training.runs.troubles import is_about_volumes, taker_of, warning_about
from bot.training.runs.why import Asking, Why, explain, queue_of, teams_by_queue
from bot.training.series.service import read_metrics
from bot.training.session_time import is_session, next_moment
from bot.training.state import State, obstacle_of
from bot.training.submission.data import ReadFolder, folders_of, next_standing_of, standing_of
from bot.training.tables import KIND, WAITING, Run, RunIntent, RunPhase
from bot.training.templates.candidates import following, moves_at
from bot.training.templates.leftovers import clear_leftovers
from bot.training.templates.moving import Leave, Move, is_due
from bot.training.templates.wording import uncached_words, unreachable_words

_QUIET = timedelta(seconds=20)
_REFUSED_FOR = timedelta(minutes=1)
_COPYING = timedelta(minutes=1)
# The end of a run wakes those that wait for it, which then are as if they had just been asked for.
_NEXT = {RunPhase.AFTER: timedelta(minutes=10), RunPhase.ASKED: timedelta(0)}
FRESH_SECONDS = 5.0


class Pace:
    """Caches the refresh interval of live cards for a few seconds."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._known: tuple[float, timedelta] | None = None

    def interval(self, session: Session) -> timedelta:
        """How long to wait between two refreshes of a card."""
        now, known = self._monotonic(), self._known
        if known is None or now - known[0] >= FRESH_SECONDS:
            self._known = known = (now, refresh_interval(session))
        return known[1]


@dataclass(frozen=True)
class RunCollaborators:
    """What runs need besides the cluster; `engines` returns the quota engine of a cluster.

    `folders` checks that the folders which they read exist.

    `again` restarts a run that was stopped for that, and returns the outcome as a sentence.
    `on_change` is called in the transaction that records a change of a run.
    """

    engines: Callable[[str], Engine]
    again: Callable[[Session, Run, datetime], str]
    snapshots: RunSnapshots
    folders: FolderCheck
    on_change: Callable[[Session, Run, datetime], None] = lambda _session, _run, _now: None


@dataclass(frozen=True)
class _RunRows:
    """What the rows say before an observation."""

    run: Run
    kept: Mapping[str, Kept]
    interval: timedelta
    data: DataReadiness
    gate: State | None
    next_data: DataReadiness
    folders: tuple[ReadFolder, ...]


class RunController(RowController[_RunRows]):
    """Reconciles runs with the cluster.

    Beside the frame's parts, it looks at logs and queues once it has acted, and records at once
    what it has created.
    """

    kind = KIND
    table = Run

    def __init__(self, context: ControllerContext, collaborators: RunCollaborators) -> None:
        super().__init__(context)
        self._engines = collaborators.engines
        self._folders = collaborators.folders
        self._places = Places()
        self._pace = Pace()
        self._recorder = Recorder(
            lambda: context.settings().training,
            context.format_command,
            collaborators.again,
            collaborators.snapshots,
            collaborators.on_change,
        )

    @override
    def load(self, session: Session, row_id: str) -> _RunRows | None:
        known = self._known(session, row_id)
        return known if known is not None and is_known(known.run) else None

    @override
    def reconcile(self, row: _RunRows, now: datetime) -> Step:
        run, cluster = row.run, self._cluster(row.run)
        if run.moves:
            clear_leftovers(run, self._context.clusters)
        engine = self._engines(run.cluster)
        yield_to_foreground = self._context.database.gate.yield_to_foreground
        seen = observe(cluster, engine.runs, run, now)
        is_next = row.data == THERE and row.gate is None and run.wanted != RunIntent.STOP
        data = self._folders.readiness(row.folders) if is_next else row.data
        seen = replace(seen, data=data, gate=row.gate, no_way_on=self._no_way_on(row, now))
        yield_to_foreground()  # an answer that comes while somebody waits is looked at after theirs
        decision = decide(run, seen, now)
        if isinstance(decision, Wait):
            return Step(decision.until)
        decision, seen = act(cluster, engine, run, seen, decision)
        yield_to_foreground()
        found = _given_up(self._findings(cluster, row, seen, decision, now))
        return Step(
            _next_look(row, found), lambda session: self._recorder.record(session, run.id, found)
        )

    def _known(self, session: Session, row_id: str) -> _RunRows | None:
        run = finding.by_id(session, row_id)
        if run is None:
            return None
        data, gate = standing_of(session, run), gate_of(session, run, self._context.format_command)
        kept, interval = tails.kept(session, row_id), self._pace.interval(session)
        next_data, folders = next_standing_of(session, run), folders_of(session, run)
        return _RunRows(run, kept, interval, data, gate, next_data, folders)

    def _cluster(self, run: Run) -> Cluster:
        return self._context.cluster(run.cluster, "its runs have ended")

    def _no_way_on(self, row: _RunRows, now: datetime) -> str:
        """Why a run whose time is up cannot move on; empty if it can, or if it is not due."""
        run = row.run
        next_one = following(run) if run.candidates and is_due(run, now) else None
        if next_one is None:
            return ""
        there = self._context.clusters.get(next_one.cluster)
        is_reached = there is not None and not there.trouble and _responds(there, run)
        return (
            uncached_words(next_one, row.next_data) if is_reached else unreachable_words(next_one)
        )

    def _findings(
        self,
        cluster: Cluster,
        known: _RunRows,
        seen: RunObserved,
        decision: Decision,
        now: datetime,
    ) -> RunFindings:
        run = known.run
        is_last = isinstance(decision, Prepare | End)
        look = LogReading(now, run.read_at, known.interval, is_last)
        log_pods = kind_of_run(run).log_pods(seen.pods)
        pods = tails.wanted(seen.pods, log_pods, known.kept, look)
        is_waiting = isinstance(decision, UpdateStatus) and decision.state.phase in WAITING
        engine = self._engines(run.cluster)
        place = self._place(engine, run, seen, now) if is_waiting else None
        read = tails.read(cluster, pods)
        patterns = self._context.settings().training.results
        return RunFindings(
            decision=decision,
            seen=seen,
            now=now,
            tails=read,
            metrics=read_metrics(cluster, run, read, log_pods, known.kept, patterns),
            tails_read=bool(pods),
            place=place,
            why=self._why(run, seen, place) if is_waiting else None,
            warning=_warning(cluster, run, seen, decision, now),
            with_efa=with_adapters(cluster.view, run.nodes) if is_last else (),
            instance_types=instance_types(cluster.view, run.nodes) if is_last or pods else (),
            taker=self._taker(cluster, run, seen),
            limit=_limit(run, seen, decision),
            afterwards=_afterwards(cluster, run) if isinstance(decision, End) else "",
        )

    def _taker(self, cluster: Cluster, run: Run, seen: RunObserved) -> str:
        """What the run was preempted for, as far as the cluster reports; empty if unknown."""
        taker = seen.admission.taker if seen.admission else None
        if taker is None:
            return next(filter(None, (taker_of(cluster, pod) for pod in seen.pods)), "")
        team = self._asking(run).team(taker.queue) if taker.queue else "another team"
        return f"{taker.kind} {taker.name} of {team}" if taker.name else team

    def _place(
        self, engine: Engine, run: Run, seen: RunObserved, now: datetime
    ) -> QueuePosition | None:
        queue = queue_of(engine.queues, run.namespace, run.queue)
        if queue is None or seen.admission is None:
            return None
        return self._places.of(engine, queue.name, run.namespace, seen.admission.name, now)

    def _why(self, run: Run, seen: RunObserved, place: QueuePosition | None) -> Why:
        ahead = place.gpus_ahead if place else 0
        return explain(run, seen.admission, self._asking(run), ahead)

    def _asking(self, run: Run) -> Asking:
        queues = self._engines(run.cluster).queues
        known = self._context.settings().teams.items()
        there = {name: team for name, team in known if run.cluster in team.reach}
        teams = teams_by_queue(queues, {k: (t.namespace, t.queue) for k, t in there.items()})
        sessions = {k: (t.namespace, t.for_sessions.queue) for k, t in there.items()}
        return Asking(
            queues, {**teams_by_queue(queues, sessions), **teams}, self._context.format_command
        )


def _afterwards(cluster: Cluster, run: Run) -> str:
    """What becomes of the nodes of a run that ends, as far as they show it."""
    nodes = (cluster.view.get(NODES, name) for name in run.nodes)
    return afterwards([each for each in nodes if each is not None])


def _responds(cluster: Cluster, run: Run) -> bool:
    """Whether a cluster answers a read of the run's root, which is not there yet."""
    try:
        cluster.get(kind_of_run(run).root.resource, run.job_name, run.namespace)
    except ClusterError:
        return False
    return True


def _limit(run: Run, seen: RunObserved, decision: Decision) -> Limit | None:
    return limit_of(run, seen, decision.state) if isinstance(decision, UpdateStatus) else None


def _warning(
    cluster: Cluster, run: Run, seen: RunObserved, decision: Decision, now: datetime
) -> FailureReason:
    """The warning of Kubernetes about a pod that does not start and does not say why."""
    if not isinstance(decision, UpdateStatus) or seen.root is None:
        return FINE
    phase, is_made = decision.state.phase, not seen.root.status.is_suspended
    # What may start and has too few pods is kept from having more.
    is_kept = phase is RunPhase.PENDING and is_made and _has_too_few(run, seen)
    if phase is not RunPhase.CREATING and not is_kept:
        return FINE
    if run.phase != phase or now - run.since < _QUIET:
        return FINE
    warning = obstacle_of(seen.pods)
    if not warning.is_final:
        if decision.state.obstacle and not is_about_volumes(cluster, seen.pods):
            return FINE
        warning = warning_about(cluster, seen.pods, seen.root.object, run.since)
    return warning if now - run.since >= _REFUSED_FOR else replace(warning, is_final=False)


def _has_too_few(run: Run, seen: RunObserved) -> bool:
    """Whether it has no pods, or not all of a group, which is admitted once it is whole."""
    group = queueing_of(run)
    return len(seen.pods) < (group.pods if group.group else 1)


def _given_up(found: RunFindings) -> RunFindings:
    """The decision; a run whose pods were long rejected is ended to free its quota."""
    warning = found.warning
    if not warning.is_final:
        return found
    outcome = Prepare(RunPhase.FAILED, warning.said, warning.advice)
    return replace(found, decision=outcome, warning=FINE)


def _next_look(known: _RunRows, found: RunFindings) -> datetime | None:
    """When to observe again if nothing wakes the row earlier."""
    decision, now = found.decision, found.now
    match decision:
        case End():
            is_left = bool(dependents_of(known.run)) or kept_after_end(known.run) is not None
            return now + SOON if is_left else None
        case Prepare() | Leave() | Move():
            return now
        case Delete() | Await() | Clear() | CreateDependent() | Scale():
            return now + SOON
        case UpdateStatus(state) if state.phase in _NEXT:
            return now + _NEXT[state.phase]
        case UpdateStatus(state) if state.phase is RunPhase.DATA:
            return now + max(known.interval, _COPYING)
        case UpdateStatus() if known.run.job_uid is None:
            return now + SOON
        case UpdateStatus(state) if state.phase is RunPhase.RUNNING:
            is_new = is_session(known.run) and known.run.until is None
            again = now + (SOON if is_new else known.interval)
        case _:
            again = now + POLL
    moments = (
        late_at(known.run),
        next_moment(known.run, now),
        moves_at(known.run) if known.run.candidates else None,
        found.limit.told_at if found.limit else None,
    )
    return min([again, *(each for each in moments if each is not None and each > now)])
