"""Reconciles runs: observes the cluster, takes one repeatable step, records the result."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.clock import Clock
from bot.cluster.cluster import Cluster
from bot.config import Settings
from bot.controller import Step, Trouble
from bot.database.database import Database
from bot.datasets.caches.using import Standing
from bot.errors import ClusterError
from bot.quotas import Engine
from bot.slack.messages import refresh_cards
from bot.snapshots.of_runs import RunSnapshots
from bot.training import finding, logs
from bot.training.acting import act
from bot.training.data import standing_of
from bot.training.decision import (
    Await,
    Clear,
    Decision,
    Delete,
    End,
    Follow,
    Furnish,
    Prepare,
    Rest,
    Scale,
    Seen,
    decide,
    late_at,
)
from bot.training.kinds import companions_of, is_known, kept_after_end, kind_of_run
from bot.training.lasting import is_session, next_moment
from bot.training.logs import Kept, Look
from bot.training.mishaps import FINE, Mishap
from bot.training.network import with_adapters
from bot.training.observing import observe
from bot.training.pace import Pace
from bot.training.places import POLL, Place, Places
from bot.training.recording import Findings, Recorder
from bot.training.state import obstacle_of
from bot.training.tables import KIND, WAITING, Phase, Run
from bot.training.timing import Limit, limit_of
from bot.training.troubles import is_about_volumes, taker_of, warning_about
from bot.training.why import Asking, Why, explain, queue_of, teams_by_queue

SOON = timedelta(seconds=2)
_QUIET = timedelta(seconds=20)
_REFUSED_FOR = timedelta(minutes=1)
_COPYING = timedelta(minutes=1)
_SHOWN_ATTEMPTS = 2


@dataclass(frozen=True)
class World:
    """What the controller works with; `engines` returns the quota engine of a cluster.

    `again` restarts a run that was stopped for that, and returns the outcome as a sentence.
    """

    database: Database
    clock: Clock
    settings: Callable[[], Settings]
    clusters: Mapping[str, Cluster]
    engines: Callable[[str], Engine]
    words: Callable[[str], str]
    again: Callable[[Session, Run, datetime], str]
    snapshots: RunSnapshots


@dataclass(frozen=True)
class _Known:
    """What the rows say before an observation."""

    run: Run
    kept: Mapping[str, Kept]
    interval: timedelta
    data: Standing


class RunController:
    """Reconciles runs with the cluster."""

    kind = KIND

    def __init__(self, world: World) -> None:
        self._world = world
        self._places = Places()
        self._pace = Pace()
        self._recorder = Recorder(
            lambda: world.settings().training, world.words, world.again, world.snapshots
        )

    def step(self, row_id: str) -> Step:
        """Takes the next step for a run; ClusterError when the cluster does not allow it."""
        known = self._world.database.read(lambda session: self._known(session, row_id))
        if known is None or not is_known(known.run):
            return Step(None)
        now = self._world.clock.now()
        cluster = self._cluster(known.run)
        engine = self._world.engines(known.run.cluster)
        give_way = self._world.database.courtesy.give_way
        seen = replace(observe(cluster, engine.runs, known.run, now), data=known.data)
        give_way()  # an answer that comes while somebody waits is looked at after theirs
        decision = decide(known.run, seen, now)
        if isinstance(decision, Rest):
            return Step(decision.until)
        decision, seen = act(cluster, engine, known.run, seen, decision)
        give_way()
        found = _given_up(self._findings(cluster, known, seen, decision, now))
        return Step(_next_look(known, found), lambda session: self._save(session, row_id, found))

    def troubled(self, session: Session, row_id: str, trouble: Trouble) -> None:
        """Shows on the card that the cluster is unreachable or refuses; one failure is ignored."""
        run = session.get(Run, row_id)
        if run is None or trouble.attempts < _SHOWN_ATTEMPTS or run.trouble == trouble.sentence:
            return
        run.trouble = trouble.sentence
        session.add(run)
        refresh_cards(session, run.subject, live=run.is_live)

    def _known(self, session: Session, row_id: str) -> _Known | None:
        run = finding.by_id(session, row_id)
        if run is None:
            return None
        data = standing_of(session, run)
        return _Known(run, logs.kept(session, row_id), self._pace.interval(session), data)

    def _cluster(self, run: Run) -> Cluster:
        cluster = self._world.clusters.get(run.cluster)
        if cluster is None:
            raise ClusterError(
                f"Cluster {run.cluster} is no longer in quartermaster.yaml.",
                "A platform admin has to restore it there until its runs have ended.",
                reason="Unreachable",
            )
        return cluster

    def _save(self, session: Session, row_id: str, found: Findings) -> None:
        self._recorder.record(session, row_id, found)

    def _findings(
        self, cluster: Cluster, known: _Known, seen: Seen, decision: Decision, now: datetime
    ) -> Findings:
        run = known.run
        is_last = isinstance(decision, Prepare | End)
        look = Look(now, run.read_at, known.interval, is_last)
        speakers = kind_of_run(run).speakers(seen.pods)
        pods = logs.wanted(seen.pods, speakers, known.kept, look)
        is_waiting = isinstance(decision, Follow) and decision.state.phase in WAITING
        engine = self._world.engines(run.cluster)
        place = self._place(engine, run, seen, now) if is_waiting else None
        return Findings(
            decision=decision,
            seen=seen,
            now=now,
            tails=logs.read(cluster, pods),
            tails_read=bool(pods),
            place=place,
            why=self._why(run, seen, place) if is_waiting else None,
            warning=_warning(cluster, run, seen, decision, now),
            with_efa=with_adapters(cluster.view, run.nodes) if is_last else (),
            taker=self._taker(cluster, run, seen),
            limit=_limit(run, seen, decision),
        )

    def _taker(self, cluster: Cluster, run: Run, seen: Seen) -> str:
        """What the run was preempted for, as far as the cluster reports; empty if unknown."""
        taker = seen.standing.taker if seen.standing else None
        if taker is None:
            return next(filter(None, (taker_of(cluster, pod) for pod in seen.pods)), "")
        team = self._asking(run).team(taker.queue) if taker.queue else "another team"
        return f"{taker.kind} {taker.name} of {team}" if taker.name else team

    def _place(self, engine: Engine, run: Run, seen: Seen, now: datetime) -> Place | None:
        queue = queue_of(engine.queues, run.namespace, run.queue)
        if queue is None or seen.standing is None:
            return None
        work = (run.namespace, seen.standing.name)
        return self._places.of(engine, queue.name, work, now)

    def _why(self, run: Run, seen: Seen, place: Place | None) -> Why:
        ahead = place.gpus_ahead if place else 0
        return explain(run, seen.standing, self._asking(run), ahead)

    def _asking(self, run: Run) -> Asking:
        queues = self._world.engines(run.cluster).queues
        teams = {
            name: (team.namespace, team.queue)
            for name, team in self._world.settings().teams.items()
            if run.cluster in team.reach
        }
        return Asking(queues, teams_by_queue(queues, teams), self._world.words)


def _limit(run: Run, seen: Seen, decision: Decision) -> Limit | None:
    return limit_of(run, seen, decision.state) if isinstance(decision, Follow) else None


def _warning(cluster: Cluster, run: Run, seen: Seen, decision: Decision, now: datetime) -> Mishap:
    """The warning of Kubernetes about a pod that does not start and does not say why."""
    if not isinstance(decision, Follow) or seen.root is None:
        return FINE
    phase, is_made = decision.state.phase, not seen.root.fate.is_suspended
    # What may start and has no pods is kept from having any.
    is_kept = phase is Phase.PENDING and is_made and not seen.pods
    if phase is not Phase.CREATING and not is_kept:
        return FINE
    if run.phase != phase or now - run.since < _QUIET:
        return FINE
    warning = obstacle_of(seen.pods)
    if not warning.is_final:
        if decision.state.obstacle and not is_about_volumes(cluster, seen.pods):
            return FINE
        warning = warning_about(cluster, seen.pods, seen.root.object, run.since)
    return warning if now - run.since >= _REFUSED_FOR else replace(warning, is_final=False)


def _given_up(found: Findings) -> Findings:
    """The decision; a run whose pods were long rejected is ended to free its quota."""
    warning = found.warning
    if not warning.is_final:
        return found
    outcome = Prepare(Phase.FAILED, warning.said, warning.advice)
    return replace(found, decision=outcome, warning=FINE)


def _next_look(known: _Known, found: Findings) -> datetime | None:
    """When to observe again if nothing wakes the row earlier."""
    decision, now = found.decision, found.now
    match decision:
        case End():
            is_left = bool(companions_of(known.run)) or kept_after_end(known.run) is not None
            return now + SOON if is_left else None
        case Prepare():
            return now
        case Delete() | Await() | Clear() | Furnish() | Scale():
            return now + SOON
        case Follow(state) if state.phase is Phase.DATA:
            return now + max(known.interval, _COPYING)
        case Follow() if known.run.job_uid is None:
            return now + SOON
        case Follow(state) if state.phase is Phase.RUNNING:
            is_new = is_session(known.run) and known.run.until is None
            again = now + (SOON if is_new else known.interval)
        case _:
            again = now + POLL
    moments = (
        late_at(known.run),
        next_moment(known.run, now),
        found.limit.told_at if found.limit else None,
    )
    return min([again, *(each for each in moments if each is not None and each > now)])
