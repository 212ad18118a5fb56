"""The time of sessions: when they end, when to remind, and how far they can be extended."""

from datetime import datetime, timedelta

from msgspec.structs import replace

from bot.config import Team
from bot.durations import format_duration
from bot.errors import LimitError
from bot.quotas.engines.registry import ENGINES
from bot.training.kinds.interactive import is_notebook
from bot.training.kinds.kind import Site
from bot.training.spec import Entrance, RunSpec, spec_of
from bot.training.tables import NOT_ADMITTED, Run, RunPhase

PORT = 8888
REMINDERS = (timedelta(minutes=30), timedelta(minutes=5))
_PAUSED = NOT_ADMITTED | {RunPhase.CREATING}
EXTENSIONS = (timedelta(hours=1), timedelta(hours=4))


def longest(team: Team) -> timedelta:
    """The longest that a session of the team may last."""
    most = team.limits.interactive_time
    return most if team.limits.time is None else min(most, team.limits.time)


def as_session(spec: RunSpec, time: timedelta | None, team: Team) -> RunSpec:
    """The spec of a session with the given time, or the team's default time."""
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
    """The spec of a session with the entrance of its cluster; any other spec unchanged.

    Only Jupyter checks the token, so nothing else is exposed to browsers.
    """
    if spec.session_seconds is None:
        return spec
    way, usual = site.cluster.ingress, site.team.defaults.interactive_priority
    entrance = None
    if way is not None and spec.port is not None and is_notebook(spec.command):
        entrance = Entrance(
            host=way.host, class_name=way.class_name, tls=way.tls, tls_secret=way.tls_secret
        )
    known = ENGINES[site.cluster.engine].priorities
    has_usual = usual is not None and site.view.get(known, usual) is not None
    priority = spec.priority or (usual if has_usual else None)
    return replace(spec, entrance=entrance, priority=priority)


def refuse_long(spec: RunSpec, team_name: str, team: Team) -> None:
    """LimitError when a session exceeds the time limit for sessions of the team."""
    lasts, most = timedelta(seconds=spec.session_seconds or 0), longest(team)
    if lasts > most:
        shown = format_duration(most)
        raise LimitError(
            f"{format_duration(lasts)} exceeds the time limit for sessions of {team_name}:"
            f" {shown}.",
            f"Use `--time {shown.replace(' ', '')}` or less.",
        )


def is_session(run: Run) -> bool:
    """Whether the run is a session, whose end people can move."""
    return run.spec.get("session_seconds") is not None


def begin(run: Run, ran_since: datetime) -> None:
    """Sets when a session ends that has started, and stores the time left when it is preempted.

    `ran_since` is when the phase before this one began.
    """
    length = run.spec.get("session_seconds")
    if length is None:
        return
    if run.phase == RunPhase.RUNNING and run.until is None:
        left = length if run.seconds_left is None else run.seconds_left
        run.until, run.seconds_left = run.since + timedelta(seconds=left), None
        run.reminded_at = run.since
    elif run.phase in _PAUSED and run.until is not None:
        paused = max(run.since, ran_since)
        run.seconds_used += _seconds(paused - ran_since)
        run.seconds_left = max(_seconds(run.until - paused), 0)
        run.until = run.idle_since = None


def last_moment(run: Run) -> datetime:
    """When a running session ends at the latest, including all extensions."""
    most = (_longest(run) or timedelta()) - timedelta(seconds=run.seconds_used)
    return max(run.until or run.since, run.since + most)


def time_left(run: Run) -> timedelta | None:
    """The time a preempted session has left when it runs again; None for all other runs."""
    return None if run.seconds_left is None else timedelta(seconds=run.seconds_left)


def is_up(run: Run, now: datetime) -> bool:
    """Whether the time of the session is up."""
    return run.until is not None and now >= run.until


def is_to_be_reminded(run: Run, now: datetime) -> bool:
    """Whether a reminder is due that the session ends soon."""
    if run.until is None or run.reminded_at is None or now >= run.until:
        return False
    return any(run.reminded_at < moment <= now for moment in _moments(run.until))


def next_moment(run: Run, now: datetime) -> datetime | None:
    """When the next reminder or the end of the session is due."""
    if run.until is None:
        return None
    return min((each for each in (*_moments(run.until), run.until) if each > now), default=None)


def extensions(run: Run) -> tuple[timedelta, ...]:
    """The extensions that buttons offer."""
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
