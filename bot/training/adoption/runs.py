"""Writes rows for the runs that live in a cluster: from labels, and from the root's record."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import select
from sqlmodel import Session, col

from bot.adoption import LEAVING, Adoptable, Known, Refused, Verdict, channel_of, unfit
from bot.audit import Actor, record
from bot.cluster import labels
from bot.config import Settings
from bot.errors import NotAllowedError
from bot.masking import hide_secrets
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.slack.markup import plain
from bot.slack.messages import ThreadMessage, post_once, show_card
from bot.training.adoption.bounds import is_calculable
from bot.training.adoption.record import RunRecord, record_of
from bot.training.kinds import is_known, kind_of_run
from bot.training.kinds.kind import RootType
from bot.training.kinds.pods.template import object_name
from bot.training.kinds.status import Progress, Root, WorkloadStatus
from bot.training.session_time import longest
from bot.training.spec import Entrance, RunSpec, asked_spec
from bot.training.submission.data import hold_again
from bot.training.submission.new_run import refuse_forbidden
from bot.training.tables import KIND, Run, RunPhase

_UNREADABLE = (
    "It has no annotation {key} that this version can read: an earlier release created it. It goes"
    " on as a workload that was started outside Quartermaster: `/train list` shows it."
)
_NOT_NEEDED = "Delete this one with kubectl if it is not needed."


@dataclass(frozen=True)
class FoundRoot:
    """An object that says to be the root of a run of ours."""

    cluster: str
    type: RootType
    root: Root

    @property
    def named(self) -> str:
        """The object, for people: `Job team-a/lane-124a67dc90 on default`."""
        at = self.root.object
        return f"{self.type.kind} {at.namespace}/{at.name} on {self.cluster}"


def examine(session: Session, settings: Settings, found: FoundRoot, now: datetime) -> Verdict:
    """Whether a row can be written for this object; nothing is written."""
    marks = found.root.object.labels
    run_id, team = marks.get(labels.RUN, ""), marks.get(labels.TEAM, "")
    known = session.get(Run, run_id)
    if known is not None:
        return Known() if _is_root_of(known, found) else Refused(_other(known))
    if why := _unfit(settings, found):
        return Refused(why)
    said = record_of(found.root.object)
    run = None if said is None else _row(settings, found, said, now)
    if said is None or run is None:
        return Refused(_UNREADABLE.format(key=labels.RECORD))
    own = object_name(said.name, run_id)
    if run.job_name != own:
        return Refused(f"It is a copy: the object of this run is called {own}. {_NOT_NEEDED}")
    if why := _forbidden(settings, run):
        return Refused(why)
    taken = _taken(session, run)
    if taken is not None:
        return Refused(f"{team} has another run {taken.reference}. {_NOT_NEEDED}")
    title = f"{run.reference} of {team}: {found.named}"
    return Adoptable(title, lambda session, now: _adopt(session, run, found, now))


def _forbidden(settings: Settings, run: Run) -> str:
    """Why the bot may create nothing more for a run that has not ended; empty if it may.

    Somebody may have written the record so that the bot starts what the team may not.
    """
    if not run.is_live:
        return ""
    try:
        refuse_forbidden(asked_spec(run), run.team, settings.teams[run.team].admission)
    except NotAllowedError as error:
        return (
            f"{error.message} It goes on. To adopt it, allow that under `admission` of the team in"
            " quartermaster.yaml, and run this command again."
        )
    return ""


def _is_root_of(run: Run, found: FoundRoot) -> bool:
    """Whether an object is the one that a run has; others may be copies with its labels."""
    at = found.root.object
    here = (found.cluster, at.namespace, at.name)
    return (run.cluster, run.namespace, run.job_name) == here


def _other(run: Run) -> str:
    return (
        f"Run {run.reference} of {run.team} is {run.namespace}/{run.job_name} on {run.cluster}."
        f" {_NOT_NEEDED}"
    )


def _taken(session: Session, run: Run) -> Run | None:
    """The run that has its name and number, or its name while both are live."""
    same = col(Run.number) == run.number
    if run.is_live:
        same |= col(Run.ended_at).is_(None)
    named = select(Run).where(col(Run.team) == run.team, col(Run.name) == run.name, same)
    return session.scalars(named).first()


def _adopt(session: Session, run: Run, found: FoundRoot, now: datetime) -> None:
    """Writes the row and its audit line, and has its controller look at it.

    A run that has ended gets no card: whether its end was told is not known.
    """
    session.add(run)
    session.flush()
    facts = {"name": run.reference, "object": found.named}
    record(session, Actor(run.workspace_id, team=run.team), "run.adopt", (KIND, run.id), facts,
           at=now)  # fmt: skip
    wake(session, KIND, run.id, cluster_lane(run.cluster), now)
    if run.is_live:
        hold_again(session, run)
        show_card(session, run.subject, run.channel, now, live=True, owner=run.person)
        lines = [plain(f"{run.reference} goes on under a new database. {_lost(run)}")]
        post_once(session, run.subject, run.channel, ThreadMessage("adopted", lines), now)


def _unfit(settings: Settings, found: FoundRoot) -> str:
    """Why an object cannot be that of a run of ours; empty if it can."""
    if found.root.is_leaving:
        return LEAVING
    return unfit(settings, found.cluster, found.root.object, "Runs")


def _row(settings: Settings, found: FoundRoot, said: RunRecord, now: datetime) -> Run | None:
    """The row; None if this version does not know such a run, or the record is of another."""
    object_ = found.root.object
    marks, team = object_.labels, settings.teams[object_.labels[labels.TEAM]]
    spec = _spec(settings, found, said.spec, marks[labels.TEAM])
    if spec is None:
        return None
    status = found.root.status
    is_waiting = status.is_suspended
    began = status.started_at or object_.metadata.creation_timestamp or now
    run = Run(
        id=marks[labels.RUN],
        workspace_id=settings.workspace,
        team=marks[labels.TEAM],
        name=said.name,
        number=said.number,
        person=marks[labels.PERSON],
        channel=channel_of(team, said.channel),
        cluster=found.cluster,
        namespace=object_.namespace,
        queue=said.queue,
        job_name=object_.name,
        job_uid=object_.uid,
        spec=spec,
        asked_at=said.asked_at,
        phase=RunPhase.PENDING if is_waiting else RunPhase.CREATING,
        since=said.asked_at if is_waiting else began,
        made_at=object_.metadata.creation_timestamp or now,
        admissions=0 if is_waiting else 1,
        admitted_at=None if is_waiting else began,
        seconds_left=None if is_waiting else spec.get("longest_seconds"),
    )
    if status.is_over:
        _end(run, status)
    is_same = is_known(run) and kind_of_run(run).root is found.type
    is_named = object_.metadata.annotations.get(labels.RUN_NAME) == run.reference
    return run if is_same and is_named else None


def _end(run: Run, status: WorkloadStatus) -> None:
    """Notes that it has ended, when, and what its root says of that."""
    is_success = status.progress is Progress.SUCCEEDED
    run.phase = RunPhase.SUCCEEDED if is_success else RunPhase.FAILED
    run.started_at = status.started_at
    run.since = run.ended_at = status.ended_at or run.admitted_at or run.asked_at
    run.reason = "" if is_success else hide_secrets(status.message or status.reason)
    run.seconds_left = None


def _spec(
    settings: Settings, found: FoundRoot, said: Mapping[str, Any], team: str
) -> dict[str, Any] | None:
    """The spec of the record, without what is lost, or is not the cluster's own; None if unusable.

    People who may create objects in the namespace may have written the record.
    """
    try:
        spec = msgspec.convert(said, RunSpec)
    except msgspec.ValidationError:
        return None
    if not is_calculable(spec):
        return None
    way = settings.clusters[found.cluster].ingress
    usual = way and Entrance(
        host=way.host, class_name=way.class_name, tls=way.tls, tls_secret=way.tls_secret
    )
    kept = dict(said) | {"cell": None}
    if spec.longest_seconds is not None:
        most = int(longest(settings.teams[team]).total_seconds())
        kept["longest_seconds"] = min(spec.longest_seconds, most)
    return kept if spec.entrance in {None, usual} else kept | {"entrance": None}


def _lost(run: Run) -> str:
    """What the record does not say, as sentences."""
    if run.spec.get("session_seconds") is None:
        return "Buttons of its older card no longer work."
    return (
        "Buttons of its older card no longer work. How far it was extended is not known, so it"
        " lasts as long as it may."
    )
