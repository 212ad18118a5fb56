"""Moves a run that was not admitted in time from one compute template to the next.

The decisions, in order: `Leave` records that it moves, `Withdraw` deletes its root, and `Move`
records that it is in the next place, once nothing of it is left in the last one. So at no time has
it objects in two places that could start.
"""

from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from bot.audit import Actor, record
from bot.durations import format_duration
from bot.reconcile.due import change_lane, wake
from bot.reconcile.wakeups import cluster_lane
from bot.slack.markup import plain
from bot.slack.messages import ThreadMessage, post_once
from bot.training.spec import is_shown_by_sweep, to_row
from bot.training.state import State
from bot.training.tables import KIND, Run, RunIntent, RunPhase
from bot.training.templates.candidates import candidates_of, following, moves_at
from bot.training.templates.wording import moved_words


@dataclass(frozen=True)
class Leave:
    """Record that the run leaves its place for the candidate of this number."""

    to: int


@dataclass(frozen=True)
class Withdraw:
    """Delete the root, unless it has changed since it was observed."""


@dataclass(frozen=True)
class Move:
    """Nothing of the run is left where it was; record that it is at this candidate."""

    to: int


def is_due(run: Run, now: datetime) -> bool:
    """Whether it has waited here for as long as it should."""
    at = moves_at(run)
    return at is not None and now >= at and run.wanted == RunIntent.RUN


def may_leave(run: Run, state: State) -> bool:
    """Whether it waits and was never admitted, so that it loses nothing when it leaves."""
    return state.phase is RunPhase.PENDING and following(run) is not None


def has_left(run: Run, uid: str) -> bool:
    """Whether a root of this uid is one that was deleted when the run left its place."""
    return any(each.get("uid") == uid for each in run.moves)


def note_move(session: Session, run: Run, to: int, now: datetime) -> None:
    """Puts the run in its next place, and posts that; its objects there are created next."""
    places = candidates_of(run)
    before, there = places[run.candidate], places[to]
    waited = format_duration(max(now - (run.made_at or now), now - now))
    left = {"template": before.template, "cluster": before.cluster, "queue": before.queue}
    run.moves = [*run.moves, left | {"uid": run.job_uid or "", "at": now.isoformat()}]
    run.candidate, run.moving_to = to, None
    run.cluster, run.queue, run.spec = there.cluster, there.queue, to_row(there.spec)
    run.phase, run.since = RunPhase.ASKED, now
    _forget_place(run)
    change_lane(session, KIND, run.id, cluster_lane(run.cluster))
    wake(session, KIND, run.id, cluster_lane(run.cluster), now)
    if not is_shown_by_sweep(run):  # there is a card in whose thread this can stand
        said = moved_words(before, there, waited, is_last=to + 1 == len(places))
        note = ThreadMessage(f"moved-{len(run.moves)}", [plain(said)], owner=run.person)
        post_once(session, run.subject, run.channel, note, now)
    facts = {"name": run.reference, "from": before.template, "to": there.template}
    actor = Actor(run.workspace_id, None, None, run.team)
    record(session, actor, "run.move", (KIND, run.id), facts, at=now)


def _forget_place(run: Run) -> None:
    """Clears what was observed of the run where it was."""
    run.job_uid, run.made_at, run.workload, run.is_furnished = None, None, "", False
    run.flavor, run.nodes, run.pods_running, run.pods_waiting, run.size = "", [], None, 0, None
    run.unscaled_to, run.unscaled_why = None, ""
    run.place = run.gpus_ahead = run.polled_at = run.starts_by = None
    run.reason = run.unblock = run.holders = run.obstacle = run.trouble = ""
