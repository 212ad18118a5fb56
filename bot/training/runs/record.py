"""Writes the findings of an observation to a run's row, and posts messages about them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.config import NetworkReference, Training
from bot.reconcile.due import wake
from bot.slack.markup import FormatCommand
from bot.slack.messages import refresh_cards
from bot.snapshots.run_snapshots import RunSnapshots
from bot.training import finding, notices
from bot.training.failures import (
    Failure,
    attempt_words,
    cause_of_run,
    failure_from,
    failure_row,
    is_last,
    is_lost,
)
from bot.training.flows.awaited import note_successors, released_words
from bot.training.kinds.status import WorkloadStatus
from bot.training.links import find_links
from bot.training.logs import tails as logs
from bot.training.logs.pairs import read_pairs
from bot.training.logs.results import Reading, progress_of, progress_row, read_log
from bot.training.logs.tails import Tail
from bot.training.mishaps import FINE, FailureReason, disruption_of, quoted
from bot.training.pairs import ALL_PAIRS
from bot.training.pods import program_of
from bot.training.records.epochs import note_epochs
from bot.training.records.network import verdict
from bot.training.records.pairs import node_names, slow_words, with_pairs
from bot.training.records.references import reference_of
from bot.training.records.spans import Stretch, keep_span, stretch_of
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
    is_late,
)
from bot.training.runs.places import QueuePosition
from bot.training.runs.sizes import is_elastic, take_size
from bot.training.runs.timing import Limit, note_limit, note_start
from bot.training.runs.why import Why
from bot.training.series.service import PodMetrics, keep_metrics
from bot.training.session_time import begin, is_to_be_reminded, is_up
from bot.training.state import State
from bot.training.submission import end_snapshots, origins
from bot.training.submission.data import let_go
from bot.training.tables import NOT_ADMITTED, SWEEP, WAITING, KeptLog, Run, RunPhase
from bot.training.templates.moving import Leave, Move, note_move

_ALONE = "It is not replaced."
_RENEWAL = timedelta(minutes=1)


@dataclass(frozen=True)
class RunFindings:
    """One observation: the decision, and what else was found.

    `tails_read` means that logs were read, even if they were empty. `with_efa` are the nodes with
    EFA of a run that ends, `instance_types` the type that all its nodes share. `taker` is what the
    run was preempted for, `limit` is its time limit, `afterwards` says what becomes of its nodes.
    """

    decision: Decision
    seen: RunObserved
    now: datetime
    tails: Sequence[Tail] = ()
    metrics: Sequence[PodMetrics] = ()
    tails_read: bool = False
    place: QueuePosition | None = None
    why: Why | None = None
    with_efa: Sequence[str] = ()
    instance_types: Sequence[str] = ()
    warning: FailureReason = FINE
    taker: str = ""
    limit: Limit | None = None
    afterwards: str = ""


@dataclass(frozen=True)
class Recorder:
    """Writes findings by the settings of `training`; `words` formats commands.

    `again` restarts a run that was stopped for that, and returns the outcome. `snapshots` takes the
    snapshots that runs requested for their end. `on_change` is called with each run that changed.
    """

    training: Callable[[], Training]
    format_command: FormatCommand
    again: Callable[[Session, Run, datetime], str]
    snapshots: RunSnapshots
    on_change: Callable[[Session, Run, datetime], None]

    def record(self, session: Session, run_id: str, found: RunFindings) -> None:
        """Updates the row, and the card if what it shows has changed."""
        run = finding.by_id(session, run_id)
        if run is None:
            return
        before, stood = _shown(run), stretch_of(run)
        with session.no_autoflush:  # else the run is written here, and once more at the end
            self._take_logs(session, run, found)
        _take_identity(run, found)
        _take_move(session, run, found)
        match found.decision:
            case UpdateStatus(state) | CreateDependent(state=State() as state) | Scale(state=state):
                self._follow(session, run, state, found)
            case Prepare(RunPhase.EXPIRED) if not is_up(run, found.now):
                return  # It was extended in the meantime.
            case Prepare(outcome, reason, advice):
                run.removing, run.reason, run.unblock = outcome, reason, advice
            case End(state):
                self._end(session, run, state, found)
            case Delete() | Clear() | Await() | CreateDependent() | Leave() | Move():
                pass
            case _:
                return
        run.trouble = ""
        run.is_late = is_late(run, found.now)
        _note_phase(session, run, stood, found.now)
        session.add(run)
        if _shown(run) != before or found.tails_read:
            refresh_cards(session, run.subject, live=run.is_live)
            _note_sweep(session, run, found.now)
            self.on_change(session, run, found.now)

    def _take_logs(self, session: Session, run: Run, found: RunFindings) -> None:
        if found.tails_read:
            run.read_at = found.now
        if not found.tails:
            return
        tail = max(found.tails, key=lambda each: str(each.pod.metadata.creation_timestamp))
        before = Reading(run.results, progress_of(run.progress), run.last_line)
        reading = read_log((*tail.earlier, *tail.lines), self.training().results, before)
        run.results, run.last_line = reading.results, reading.last_line
        self._take_pairs(run, tail, found)
        links = self.training().links
        run.links = find_links((*tail.earlier, *tail.lines), links, run.links)
        run.progress = progress_row(reading.progress)
        read_to = keep_metrics(session, run, found.metrics)
        logs.keep(session, run.id, found.tails, found.now, read_to)

    def _take_pairs(self, run: Run, tail: Tail, found: RunFindings) -> None:
        """What a network test measured between pairs of its nodes."""
        if run.spec.get("form") == ALL_PAIRS:
            names = node_names(found.seen.pods)
            measured = read_pairs((*tail.earlier, *tail.lines))
            reference = self._reference(run, found)
            run.results = with_pairs(run.results, measured, names, reference)

    def _reference(self, run: Run, found: RunFindings) -> NetworkReference | None:
        known = self.training().network_test.references
        return reference_of(run, found.instance_types, known)

    def _follow(self, session: Session, run: Run, state: State, found: RunFindings) -> None:
        now = found.now
        came_from, came_at = RunPhase(run.phase), run.since
        if state.phase is not came_from:
            # It waits since it was asked for, not since the cluster knows of it.
            is_known = (came_from, state.phase) == (RunPhase.ASKED, RunPhase.PENDING)
            run.phase, run.since = state.phase, came_at if is_known else state.since or now
        run.started_at = run.started_at or state.started_at
        state = state.hindered(found.warning) if found.warning else state
        if state.phase is RunPhase.PREEMPTED:
            went_to = _went_to(session, found)
            state = replace(state, reason=" ".join(filter(None, (state.reason, went_to))))
        run.reason, run.obstacle = state.reason, state.obstacle
        _take_waiting(run, found)
        _take_nodes(run, found)
        run.unblock = run.unblock or state.advice
        take_size(run, found.seen, found.decision)
        begin(run, came_at)
        if came_from is RunPhase.AFTER and state.phase is not RunPhase.AFTER:
            notices.released(session, run, released_words(session, run), now)
        is_admitted = state.phase in {RunPhase.CREATING, RunPhase.RUNNING}
        if is_admitted and came_from in NOT_ADMITTED and not _is_renewed(run, came_from, now):
            run.admissions += 1
            run.admitted_at = now
            notices.admitted(session, run, came_at, now)
        if state.phase is RunPhase.PREEMPTED and came_from is not RunPhase.PREEMPTED:
            run.preemptions += 1
            notices.preempted(session, run, state.reason, self.format_command, now)
        self._note_times(session, run, came_from, came_at, found)
        self._note_attempt(session, run, found)
        run.reason = " ".join(filter(None, (run.reason, _attempted(session, run, state, found))))
        _note_disruptions(session, run, found)

    def _note_times(
        self,
        session: Session,
        run: Run,
        came_from: RunPhase,
        came_at: datetime,
        found: RunFindings,
    ) -> None:
        now = found.now
        note_start(session, run, came_from, came_at, self.training().long_wait, now)
        note_limit(session, run, found.limit, now)
        if is_to_be_reminded(run, now):
            run.reminders, run.reminded_at = run.reminders + 1, now
            notices.ends_soon(session, run, self.format_command, now)

    def _note_attempt(self, session: Session, run: Run, found: RunFindings) -> None:
        """Stores the last failure of a pod, and posts it if the run continues."""
        cause, known = cause_of_run(run, found.seen.pods), failure_from(run.failure)
        status = found.seen.root.status if found.seen.root else WorkloadStatus()
        if cause is None or cause.is_disrupted:
            return
        if cause.place:
            # Of several pods the Job's count may go on after the one that the others follow.
            count = run.restarts + (known is None or known.key != cause.key)
        else:
            count = max(status.failed_pods, cause.number or 0)
        run.failure = failure_row(cause)
        if count <= run.restarts:
            return
        run.restarts = count
        is_alone = is_lost(cause, run, status, found.seen.pods)
        if is_alone or not is_last(cause, run, status):
            goes_on = _ALONE if is_alone else "It is restarting."
            why = f"{attempt_words(cause, count, status.attempts)} {goes_on}"
            notices.failed_attempt(session, run, why, _said(session, run, cause), found.now)

    def _end(self, session: Session, run: Run, state: State, found: RunFindings) -> None:
        run.started_at = run.started_at or state.started_at
        run.ended_at = max(state.ended_at or found.now, run.started_at or run.asked_at)
        run.phase, run.since, run.reason = state.phase, run.ended_at, state.reason
        run.obstacle, run.unblock, run.holders = "", state.advice, ""
        run.place = run.gpus_ahead = run.polled_at = run.starts_by = None
        if run.phase == RunPhase.SUCCEEDED:
            run.reason = verdict(session, run, found.with_efa, self._reference(run, found))
        elif run.phase == RunPhase.FAILED and (measured := slow_words(run.results)):
            run.reason = f"{run.reason} Measured between its nodes: {measured}."
        let_go(session, run, found.now)
        last = _last_words(session, run)
        pod, lines = (last.pod, last.lines) if last else ("", [])
        words, said = self.format_command, found.afterwards
        notices.ended(session, run, pod, lines, words, found.now, afterwards=said)
        end_snapshots.take(session, run, self.snapshots, found.now)
        origins.leave(session, run, found.now)
        if run.again_on is not None and run.phase == RunPhase.STOPPED:
            notices.started_again(session, run, self.again(session, run, found.now), found.now)


def _take_move(session: Session, run: Run, found: RunFindings) -> None:
    """Stores that it leaves its compute template, is in the next one, or stays after all."""
    match found.decision:
        case Leave(to):
            run.moving_to = to
        case Move(to):
            note_move(session, run, to, found.now)
        case Await() | Clear():
            pass
        case _:
            run.moving_to = None


def _note_phase(session: Session, run: Run, before: Stretch, now: datetime) -> None:
    """Notes how long it was in its phase; a new one concerns the runs that wait for it."""
    keep_span(session, run, before, now)
    note_epochs(run, before.phase, now)
    if run.phase != before.phase:
        note_successors(session, run, now)


def _note_sweep(session: Session, run: Run, now: datetime) -> None:
    """Has the sweep of a run look at it: its card shows the run, its next run may be due."""
    cell = run.spec.get("cell")
    if cell is not None:
        wake(session, SWEEP, cell["sweep"], SWEEP, now)


def _attempted(session: Session, run: Run, state: State, found: RunFindings) -> str:
    """How the last attempt failed, while the next one starts or runs.

    A failed pod that is not replaced becomes the obstacle, with its last line.
    """
    failure = failure_from(run.failure)
    root = found.seen.root
    if failure is None or root is None or state.phase not in {RunPhase.CREATING, RunPhase.RUNNING}:
        return ""
    said = attempt_words(failure, run.restarts, root.status.attempts)
    if is_lost(failure, run, root.status, found.seen.pods):
        words = next((line for line in reversed(_said(session, run, failure)) if line.strip()), "")
        told = f" Its last line: {quoted(words)}" if words else ""
        run.obstacle = run.obstacle or f"{said}{told} {_ALONE}"
        run.unblock = run.unblock or failure.advice
        return ""
    if state.phase is RunPhase.RUNNING or is_last(failure, run, root.status):
        return said
    run.unblock = run.unblock or failure.advice
    return f"{said} It is restarting."


def _said(session: Session, run: Run, failure: Failure) -> list[str]:
    """The saved lines of the pod that failed."""
    kept = session.get(KeptLog, (run.id, failure.key.partition(" ")[0]))
    return kept.lines if kept else []


def _note_disruptions(session: Session, run: Run, found: RunFindings) -> None:
    """Posts once for each disrupted pod why it was disrupted."""
    for pod in found.seen.pods:
        why = disruption_of(pod, *filter(None, [found.taker]))
        if why and run.phase not in WAITING:
            kept = session.get(KeptLog, (run.id, pod.uid))
            notices.disrupted(session, run, pod.uid, why, kept.lines if kept else [], found.now)


def _is_renewed(run: Run, came_from: RunPhase, now: datetime) -> bool:
    """Whether this continues its last admission: Kueue replaces Workloads it finds outdated."""
    is_soon = run.admitted_at is not None and now - run.admitted_at < _RENEWAL
    return is_soon and came_from is RunPhase.PENDING


def _went_to(session: Session, found: RunFindings) -> str:
    """Which workload got the GPUs of a preempted run, as a sentence."""
    admission = found.seen.admission
    uid = admission.taker.uid if admission and admission.taker else ""
    ours = finding.of_jobs(session, [uid]) if uid else []
    name = f"{ours[0].reference} of {ours[0].team}" if ours else found.taker
    return f"They went to {name}." if name else ""


def _take_identity(run: Run, found: RunFindings) -> None:
    root, admission = found.seen.root, found.seen.admission
    if root is not None:
        run.job_uid = root.uid
        run.made_at = run.made_at or found.now
        is_complete = found.seen.dependents is not None and not found.seen.missing
        run.is_furnished = run.is_furnished or is_complete
    if admission is not None:
        run.workload = admission.name
        run.flavor = admission.flavor or run.flavor
    _take_image(run, found)


def _take_waiting(run: Run, found: RunFindings) -> None:
    place, why = found.place, found.why
    run.place = place.number if place else None
    run.gpus_ahead = place.gpus_ahead if place else None
    run.polled_at = place.polled_at if place else None
    run.reason = " ".join(filter(None, (run.reason, why.waits_for if why else "")))
    run.unblock = why.unblock if why else ""
    run.holders = why.holders if why else ""
    run.starts_by = why.starts_by if why else None


def _take_nodes(run: Run, found: RunFindings) -> None:
    """Stores its nodes; the nodes are kept when the first pod ends."""
    if run.phase in WAITING:
        run.nodes = []
    placed = [pod for pod in found.seen.pods if pod.status.phase in {"Running", "Succeeded"}]
    nodes = sorted({pod.spec.node_name for pod in placed})
    if len(nodes) >= len(run.nodes) or (nodes and is_elastic(run)):
        run.nodes = nodes
    if not set(nodes) <= set(run.ran_on):
        run.ran_on = sorted({*run.ran_on, *nodes})


def _take_image(run: Run, found: RunFindings) -> None:
    """Stores the digest of its image, which a tag does not determine."""
    for pod in found.seen.pods:
        program = program_of(pod)
        if program is not None and "@sha256:" in program.image_id:
            run.image_id = program.image_id.rpartition("//")[2]


def _last_words(session: Session, run: Run) -> KeptLog | None:
    """The saved log of the pod that failed last, else of the last one."""
    session.flush()
    kept = finding.kept_logs(session, run.id)
    failed = [log for log in kept if log.is_failed]
    if run.phase == RunPhase.FAILED and failed:
        return failed[-1]
    return kept[-1] if kept else None


def _shown(run: Run) -> tuple[object, ...]:
    """The fields of a run that its card shows."""
    return (
        run.phase, run.since, run.reason, run.unblock, run.holders, run.starts_by, run.removing,
        run.obstacle, run.last_line, run.place, run.gpus_ahead, run.is_late, run.trouble,
        run.ended_at, run.restarts, run.until, run.nodes, run.size, run.pods_running,
        run.pods_waiting, run.unscaled_why, run.candidate, run.moving_to, run.made_at,
    )  # fmt: skip
