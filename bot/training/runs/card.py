"""Builds the cards of runs, and of removals of external workloads. Only the renderers read rows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.clock import Clock
from bot.config.sections.links import RunLink
from bot.durations import format_duration
from bot.slack.card import Button, Card, Confirm, Tone
from bot.slack.markup import Markup, code, join, plain, sentence, when
from bot.training.kinds import gpus_of
from bot.training.kinds.pods.volumes import mounts_of
from bot.training.links import link_buttons
from bot.training.logs.results import progress_of
from bot.training.records.lineage import NOTHING, Lineage, end_words, lineage_of, origin_words
from bot.training.runs.sizes import is_elastic, is_refused, size_words
from bot.training.series.service import has_series
from bot.training.session_time import time_left
from bot.training.spec import RunSpec, spec_of
from bot.training.tables import (
    BAD_ENDS,
    ENDS,
    GOOD_ENDS,
    KIND,
    NOT_ADMITTED,
    REMOVAL,
    Removal,
    Run,
    RunIntent,
    RunPhase,
)
from bot.training.templates.wording import place_words, waiting_lines
from bot.training.wording import STOPPING, gpus, name_of, place, results, state_words

REQUEUE = "train.requeue"
OPEN, LOGS, STOP, RESUBMIT = "train.open", "train.logs", "train.stop", "train.resubmit"
CURVES = "train.curves"
_LONGEST_LINE = 300
_SHOWN_NODES = 8
_LATE = {
    RunPhase.ASKED: "it should have reached the cluster by now.",
    RunPhase.DATA: "it has waited for its data for more than a day.",
    RunPhase.PENDING: "it has waited for more than a day.",
    RunPhase.PREEMPTED: "it has waited for more than a day.",
    RunPhase.CREATING: "its pod should have started by now.",
    RunPhase.RUNNING: "it has exceeded its time limit and should have been stopped.",
}


class RunRenderer:
    """Renders runs."""

    kind = KIND

    def __init__(self, clock: Clock, links: Callable[[], Sequence[RunLink]]) -> None:
        self._clock = clock
        self._links = links

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The run's card; the same in every channel."""
        del channel
        run = session.get(Run, subject_id)
        if run is None:
            return None
        people, lineage = people_of(session, run), lineage_of(session, run)
        made = run_card(run, people, self._clock.now(), lineage, self._links())
        return with_curves(made, run) if has_series(session, run.id) else made


class RemovalRenderer:
    """Renders removals."""

    kind = REMOVAL

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The removal's card; the same in every channel."""
        del channel
        removal = session.get(Removal, subject_id)
        if removal is None:
            return None
        return removal_card(removal, name_of(session, removal.workspace_id, removal.person))


@dataclass(frozen=True)
class People:
    """The names of the people of a run; a name, unlike a mention, notifies no one."""

    owner: str
    stopper: str = ""


def run_card(
    run: Run,
    people: People,
    now: datetime,
    lineage: Lineage = NOTHING,
    links: Sequence[RunLink] = (),
) -> Card:
    """The card of a run at this moment, with those of the configured links that it has."""
    spec = spec_of(run)
    return Card(
        title=run.reference,
        state=state_words(run, now),
        tone=_tone(run),
        lines=tuple(_lines(run, people)),
        facts=tuple(_facts(run, spec, people, lineage)),
        progress=progress_of(run.progress) if _is_started(run) else None,
        buttons=(*_buttons(run, spec), *link_buttons(run, spec, links)),
    )


def with_curves(card: Card, run: Run) -> Card:
    """The card of a run that has metrics: with the button that shows their curves."""
    place = 1 + next((at for at, each in enumerate(card.buttons) if each.action == LOGS), -1)
    before, after = card.buttons[:place], card.buttons[place:]
    return replace(card, buttons=(*before, Button(CURVES, "Curves", run.id), *after))


def summary_card(run: Run, stopper: str, now: datetime) -> Card:
    """The card of a run without its facts, and with nothing that changes only as time passes."""
    spec = spec_of(run)
    is_running = run.phase == RunPhase.RUNNING and state_words(run, now) != STOPPING
    return Card(
        title=run.reference,
        state="Running" if is_running else state_words(run, now),
        tone=_tone(run),
        lines=tuple(_lines(run, People("", stopper))),
        facts=(("GPUs", plain(gpus(gpus_of(spec)))),),
        progress=progress_of(run.progress) if _is_started(run) else None,
        buttons=_buttons(run, spec),
    )


def removal_card(removal: Removal, asker: str) -> Card:
    """The card of an external workload that is being stopped."""
    facts = (
        (removal.kind, code(f"{removal.namespace}/{removal.job_name}")),
        ("Owner", plain(removal.owner or "unknown")),
        ("Requested by", plain(asker)),
    )
    if removal.ended_at is not None:
        return Card(removal.job_name, removal.outcome, Tone.STOPPED, facts=facts)
    lines = (sentence(f"{removal.trouble} Retrying."),) if removal.trouble else ()
    tone = Tone.WARNING if removal.trouble else Tone.WORKING
    return Card(removal.job_name, "Stopping", tone, lines=lines, facts=facts)


def stop_button(run: Run, spec: RunSpec) -> Button:
    """The button that stops a run, with the consequence in numbers."""
    total = gpus_of(spec)
    freed = f"This frees {gpus(total)}." if total else "It uses no GPU."
    text = (
        f"{freed} Work since its last checkpoint is lost."
        " Resubmit starts it again, from the beginning or from its checkpoint."
    )
    if spec.session_seconds is not None:
        text = f"{freed} Its data outside PVCs is lost. Resubmit starts it again."
    if run.phase == RunPhase.AFTER:
        text = "It has not started, so it uses no GPU. Resubmit starts it again."
    question = Confirm(f"Stop {run.reference}?"[:100], text, "Stop it", "Keep it running")
    return Button(STOP, "Stop", run.id, "danger", question)


def requeue_button(run: Run, nodes: int) -> Button:
    """The button that stops a run and starts it again with other nodes."""
    text = (
        "The run releases its GPUs, waits in its queue again, and restarts. Work since its last"
        " checkpoint is lost."
    )
    question = Confirm(f"Stop {run.reference}?"[:100], text, "Stop and resubmit", "Keep it running")
    label = f"Stop and resubmit with {nodes} node{'' if nodes == 1 else 's'}"
    return Button(REQUEUE, label, f"{run.id} {nodes}", "danger", question)


def _tone(run: Run) -> Tone:
    phase = RunPhase(run.phase)
    if phase in BAD_ENDS:
        return Tone.BAD
    if phase in ENDS:
        return Tone.GOOD if phase in GOOD_ENDS else Tone.STOPPED
    if run.trouble or run.obstacle or run.is_late:
        return Tone.WARNING
    return Tone.WAITING if phase in NOT_ADMITTED else Tone.WORKING


def _lines(run: Run, people: People) -> list[Markup]:
    """The reason for the state of the run, and what comes next."""
    said = [run.reason, run.obstacle]
    if run.phase == RunPhase.PREEMPTED:
        said.append("It restarts automatically when GPUs are available for it.")
    if run.is_live:
        said += [place(run), run.holders]
    said.append(run.unblock)
    if run.is_live:
        said.append(_late(run))
    said.append(f"{run.trouble} Retrying." if run.trouble else "")
    lines = [sentence(line) for line in said if line]
    if run.is_live and is_refused(run):
        lines.append(sentence(f"It could not be scaled. {run.unscaled_why}"))
    if run.is_live and run.phase in NOT_ADMITTED:
        lines.insert(0, join("Waiting since ", when(run.since), "."))
    lines += waiting_lines(run)
    if run.starts_by is not None:
        lines.append(join("Based on the time limits of running workloads, it starts ",
                          when(run.starts_by), " at the latest."))  # fmt: skip
    if run.stop_at is not None and (run.is_live or run.phase == RunPhase.STOPPED):
        lines.append(join("Stopped by ", plain(people.stopper), ", ", when(run.stop_at), "."))
    return lines


def _late(run: Run) -> str:
    if not run.is_late:
        return ""
    if run.wanted == RunIntent.STOP:
        return "Overdue: its pods should be gone by now."
    return f"Overdue: {_LATE[RunPhase(run.phase)]}"


def _facts(run: Run, spec: RunSpec, people: People, lineage: Lineage) -> list[tuple[str, Markup]]:
    limit = spec.time_limit
    facts: list[tuple[str, Markup | None]] = [
        ("Image", code(spec.image)),
        ("Kind", plain(_kind(spec)) if spec.kind != "job" else None),
        ("GPUs", plain(_gpus(spec))),
        ("By", plain(people.owner)),
        ("Size", plain(size_words(run)) if is_elastic(run) else None),
        *_volumes(run, spec),
        ("Template", plain(on) if (on := place_words(run)) else None),
        ("Where", code(_where(run))),
        ("Nodes", plain(_nodes(run)) if spec.nodes > 1 and run.nodes else None),
        ("Submitted", when(run.asked_at)),
        ("Started", when(run.started_at) if run.started_at else None),
        ("Time limit", plain(format_duration(limit)) if limit else None),
        ("Time", plain(_time(spec)) if spec.session_seconds else None),
        ("Time left", plain(_left(run)) if run.is_live and time_left(run) is not None else None),
        ("Ends", when(run.until) if run.is_live and run.until else None),
        ("GPUs idle", _idle(run)),
        ("Code", code(spec.code) if spec.code else None),
        *(("After", each) for each in lineage.after),
        ("From", origin_words(spec)),
        ("Snapshot", end_words(run, lineage)),
        ("Results", plain(results(run)) if run.results else None),
        ("Last line", code(run.last_line[:_LONGEST_LINE]) if run.last_line else None),
    ]
    return [(label, value) for label, value in facts if value is not None]


def _idle(run: Run) -> Markup | None:
    is_idle = run.is_live and run.idle_since is not None
    return join("since ", when(run.idle_since)) if is_idle and run.idle_since else None


def _time(spec: RunSpec) -> str:
    lasts, most = (
        format_duration(timedelta(seconds=each or 0))
        for each in (spec.session_seconds, spec.longest_seconds)
    )
    return f"{lasts}, at most {most}" if lasts != most else lasts


def _left(run: Run) -> str:
    return f"{format_duration(time_left(run) or timedelta())}; counted only while it runs"


def _kind(spec: RunSpec) -> str:
    return f"{spec.kind}, as {spec.form}" if spec.form else spec.kind


def _gpus(spec: RunSpec) -> str:
    total = f"{gpus_of(spec):f}" + (f" of {spec.gpu_type}" if spec.gpu_type else "")
    return total if spec.nodes == 1 else f"{total} ({spec.gpus} on each of {spec.nodes} nodes)"


def _volumes(run: Run, spec: RunSpec) -> Iterator[tuple[str, Markup]]:
    """Its PVCs; those created for it are kept, so that what it wrote is not lost."""
    mounts = mounts_of(run.job_name, spec)
    for mount in mounts[: len(spec.mounts)]:
        reading = ", read-only" if mount.read_only else ""
        yield "PVC", join(code(mount.claim), plain(f" at {mount.path}{reading}"))
    for mount, volume in zip(mounts[len(spec.mounts) :], spec.volumes, strict=True):
        made = f" at {mount.path}, {volume.size} of {volume.storage_class}, kept after the run"
        yield "New PVC", join(code(mount.claim), plain(made))
    for data in spec.data:
        yield "Data", join(code(data.reference), plain(f" at {data.path}, read-only"))


def _nodes(run: Run) -> str:
    shown = ", ".join(run.nodes[:_SHOWN_NODES])
    left = len(run.nodes) - _SHOWN_NODES
    return f"{shown} and {left} more" if left > 0 else shown


def _where(run: Run) -> str:
    """The namespace and name of its root, with the cluster unless that is the default one."""
    cluster = "" if run.cluster == "default" else f"{run.cluster}: "
    return f"{cluster}{run.namespace}/{run.job_name}"


def _is_started(run: Run) -> bool:
    return run.started_at is not None and (run.phase == RunPhase.RUNNING or not run.is_live)


def _buttons(run: Run, spec: RunSpec) -> tuple[Button, ...]:
    logs = (Button(LOGS, "Logs", run.id),) if run.started_at or not run.is_live else ()
    if not run.is_live:
        return (*logs, Button(RESUBMIT, "Resubmit", run.id))
    if run.wanted == RunIntent.STOP:
        return logs
    can_open = spec.session_seconds is not None and run.phase == RunPhase.RUNNING
    open_it = (Button(OPEN, "Open", run.id, "primary"),) if can_open else ()
    requeue = (requeue_button(run, run.scale_to),) if run.scale_to and is_refused(run) else ()
    return (*open_it, *logs, *requeue, stop_button(run, spec))


def people_of(session: Session, run: Run) -> People:
    """The names of the people of a run."""
    stopper = name_of(session, run.workspace_id, run.stop_by) if run.stop_at else ""
    return People(name_of(session, run.workspace_id, run.person), stopper)
