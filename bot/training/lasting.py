"""How long sessions last: while they run, until their row says, reminded of it before."""

from datetime import datetime, timedelta

from msgspec.structs import replace

from bot.cluster.resources import PRIORITY_CLASSES, SYSTEM_PRIORITIES
from bot.cluster.view import View
from bot.config import Team
from bot.durations import format_duration
from bot.errors import LimitError
from bot.training.kinds.interactive import is_notebook
from bot.training.kinds.kind import Site
from bot.training.spec import Entrance, RunSpec, spec_of
from bot.training.tables import NOT_ADMITTED, Phase, Run

PORT = 8888
REMINDERS = (timedelta(minutes=30), timedelta(minutes=5))
_PAUSED = NOT_ADMITTED | {Phase.CREATING}
EXTENSIONS = (timedelta(hours=1), timedelta(hours=4))


def longest(team: Team) -> timedelta:
    """The longest that a session of the team may last."""
    most = team.limits.interactive_time
    return most if team.limits.time is None else min(most, team.limits.time)


def as_session(spec: RunSpec, time: timedelta | None, team: Team) -> RunSpec:
    """The spec of a session that is to last that long, or as long as the team's usually do."""
    most = longest(team)
    lasts = time or min(team.defaults.interactive_time, most)
    return replace(
        spec,
        port=spec.port or (PORT if is_notebook(spec.command) else None),
        session_seconds=int(lasts.total_seconds()),
        longest_seconds=int(most.total_seconds()),
        time_limit_seconds=None,
    )


def welcomed(spec: RunSpec, site: Site) -> RunSpec:
    """A session's spec with what its cluster has for it; any other spec as it is.

    Only Jupyter asks for the token, so nothing else is opened to browsers.
    """
    if spec.session_seconds is None:
        return spec
    way, usual = site.cluster.ingress, site.team.defaults.interactive_priority
    entrance = None
    if way is not None and spec.port is not None and is_notebook(spec.command):
        entrance = Entrance(
            host=way.host, class_name=way.class_name, tls=way.tls, tls_secret=way.tls_secret
        )
    has_usual = usual is not None and _has_priority(site.view, usual)
    priority = spec.priority or (usual if has_usual else None)
    return replace(spec, entrance=entrance, priority=priority)


def refuse_long(spec: RunSpec, team_name: str, team: Team) -> None:
    """LimitError when a session is to last longer than the team's may."""
    lasts, most = timedelta(seconds=spec.session_seconds or 0), longest(team)
    if lasts > most:
        shown = format_duration(most)
        raise LimitError(
            f"{format_duration(lasts)} exceeds the time limit for sessions of {team_name}:"
            f" {shown}.",
            f"Use `--time {shown.replace(' ', '')}` or less.",
        )


def is_session(run: Run) -> bool:
    """Whether the run ends by a time that people can move."""
    return run.spec.get("session_seconds") is not None


def begin(run: Run, ran_since: datetime) -> None:
    """Sets when a session ends that now runs, and keeps what is left when it no longer does.

    `ran_since` is when the phase before this one began.
    """
    length = run.spec.get("session_seconds")
    if length is None:
        return
    if run.phase == Phase.RUNNING and run.until is None:
        left = length if run.seconds_left is None else run.seconds_left
        run.until, run.seconds_left = run.since + timedelta(seconds=left), None
        run.reminded_at = run.since
    elif run.phase in _PAUSED and run.until is not None:
        paused = max(run.since, ran_since)
        run.seconds_used += _seconds(paused - ran_since)
        run.seconds_left = max(_seconds(run.until - paused), 0)
        run.until = run.idle_since = None


def last_moment(run: Run) -> datetime:
    """When a session that runs ends at the latest, however often it is extended."""
    most = (_longest(run) or timedelta()) - timedelta(seconds=run.seconds_used)
    return max(run.until or run.since, run.since + most)


def time_left(run: Run) -> timedelta | None:
    """What a session that was pushed out will have when it runs again; None for all others."""
    return None if run.seconds_left is None else timedelta(seconds=run.seconds_left)


def is_up(run: Run, now: datetime) -> bool:
    """Whether its time has come."""
    return run.until is not None and now >= run.until


def is_to_be_reminded(run: Run, now: datetime) -> bool:
    """Whether its end is near, and was not as near when its owner was last told."""
    if run.until is None or run.reminded_at is None or now >= run.until:
        return False
    return any(run.reminded_at < moment <= now for moment in _moments(run.until))


def next_moment(run: Run, now: datetime) -> datetime | None:
    """When something is to be done about its time."""
    if run.until is None:
        return None
    return min((each for each in (*_moments(run.until), run.until) if each > now), default=None)


def extensions(run: Run) -> tuple[timedelta, ...]:
    """By how much it may still be extended at a click."""
    if run.until is None:
        return ()
    room = last_moment(run) - run.until
    return tuple(each for each in EXTENSIONS if each <= room)


def _seconds(length: timedelta) -> int:
    return round(length.total_seconds())


def _moments(until: datetime) -> tuple[datetime, ...]:
    return tuple(until - before for before in REMINDERS)


def _longest(run: Run) -> timedelta | None:
    seconds = spec_of(run).longest_seconds
    return None if seconds is None else timedelta(seconds=seconds)


def _has_priority(view: View, name: str) -> bool:
    of_kueue, of_kai = view.get(PRIORITY_CLASSES, name), view.get(SYSTEM_PRIORITIES, name)
    return of_kueue is not None or of_kai is not None
