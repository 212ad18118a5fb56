"""What handlers read and change about GPUs; makes no calls outside the database."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from sqlalchemy import select
from sqlmodel import Session, col

from bot.audit import Actor, record
from bot.cluster.cluster import Cluster
from bot.config import Settings, Team
from bot.database.columns import whole_number
from bot.errors import ConflictError, NotFoundError
from bot.gpus.idle_nodes import IdleGroup, idle_groups
from bot.gpus.minutes import Window
from bot.gpus.node_list import NodeUse, nodes
from bot.gpus.reports import ranking
from bot.gpus.reports.ranking import Idle, Ranked
from bot.gpus.reports.ranking_card import Life
from bot.gpus.reports.report import By, Question, Report, report
from bot.gpus.samples.sums import Who
from bot.gpus.samples.usage import SeriesUsage, latest, series_of, timeline, use
from bot.gpus.status import ClusterStatus, Waits
from bot.gpus.tables import Series, What
from bot.people.access import Caller
from bot.people.people import name_of
from bot.quotas import Engine
from bot.quotas.engines.admission import Item
from bot.training.kinds import gpus_of, is_known
from bot.training.spec import spec_of
from bot.training.tables import WAITING, Run

_MOST_SLOTS = 20
_STEPS = (timedelta(minutes=5), timedelta(hours=1))
_LONGEST_LIFE = timedelta(days=60)


class GpuService:
    """Reads samples. Handlers restrict members to the figures of their team."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        clusters: Mapping[str, Cluster],
        engine: Callable[[str], Engine],
    ) -> None:
        self._settings = settings
        self._clusters = clusters
        self._engine = engine

    def status(self, session: Session) -> list[ClusterStatus]:
        """The latest sample of each cluster, and what waits there."""
        settings = self._settings()
        return [
            ClusterStatus(
                latest(session, name),
                _waiting(session, name, settings.teams, self._engine(name)),
                settings.clusters[name].measures_gpus,
            )
            for name in self._clusters
            if name in settings.clusters
        ]

    def nodes(self, session: Session) -> tuple[list[NodeUse], list[Cluster]]:
        """The nodes with GPUs of each cluster, and those clusters."""
        settings = self._settings()
        seen = [each for name, each in self._clusters.items() if name in settings.clusters]
        return [node for each in seen for node in nodes(session, settings, each)], seen

    def idle_nodes(self, session: Session, now: datetime) -> tuple[list[IdleGroup], list[str]]:
        """The node groups with idle nodes, and the clusters whose nodes are unknown now."""
        settings = self._settings()
        found: list[IdleGroup] = []
        unknown: list[str] = []
        for name, cluster in self._clusters.items():
            groups = (
                idle_groups(session, settings, cluster, now) if name in settings.clusters else ()
            )
            unknown.extend([name] if groups is None else ())
            found.extend(groups or ())
        return found, unknown

    def user_of(self, session: Session, who: Who) -> str:
        """Who a series belongs to, in words: its name, team and person."""
        team = f" of {who.team}" if who.team else f" in namespace {who.namespace}"
        person = name_of(session, self._settings().workspace, who.person) if who.person else ""
        return f"{who.name}{team}" + (f" ({person})" if person else "")

    def top(
        self, session: Session, team: str | None, by: ranking.By, window: Window
    ) -> list[Ranked]:
        """Workloads ranked by GPU usage in a time."""
        return ranking.top(session, window, team, by)

    def idle(self, session: Session, team: str | None, now: datetime) -> list[Idle]:
        """Workloads with idle GPUs, without snoozed runs."""
        found = ranking.idle(session, tuple(self._clusters), team, now)
        return [each for each in found if not self._is_snoozed(session, each, now)]

    def life(self, session: Session, run: Run, now: datetime) -> Life:
        """The GPU usage of a run since it began."""
        series = series_of(session, run.id)
        idle_since = min((each.idle_since for each in series if each.idle_since), default=None)
        begun, ended = run.started_at or run.asked_at, run.ended_at or now
        window = Window(max(begun - timedelta(minutes=1), ended - _LONGEST_LIFE), ended)
        parts: Sequence[SeriesUsage] = (
            ()
            if not series
            else tuple(each for each in use(session, window).parts if each.series.run_id == run.id)
        )
        step = max((ended - window.begun) / _MOST_SLOTS, timedelta(minutes=1))
        step = next((each for each in _STEPS if each >= step), _whole_hours(step))
        slots = timeline(
            session, window, run.cluster, step,
            lambda each: each.run_id if each.run_id == run.id else None,
        ) if parts else ()  # fmt: skip
        return Life(run, parts, slots, idle_since)

    def report(self, session: Session, asked: Question, now: datetime) -> Report:
        """The report of a time."""
        settings = self._settings()
        found = report(session, asked, settings.training.prices, now)
        for line in found.lines if asked.by is By.PERSON else ():
            line.name = name_of(session, settings.workspace, line.name)
        return found

    def team_of(self, session: Session, series_id: str) -> str | None:
        """The team of a workload not started by the bot; None if unknown."""
        return _other(session, series_id).team or None

    def claim(self, session: Session, caller: Caller, series_id: str, now: datetime) -> Series:
        """Records the caller as the owner of a workload without a known owner."""
        series = _other(session, series_id)
        if series.team not in {"", caller.team}:
            mine = caller.team or "a team that you act for here"
            raise NotFoundError(
                f"{series.name} does not belong to {mine}.", "Use its team's channel."
            )
        if series.person and series.person != caller.person:
            raise ConflictError(
                f"{series.name} already belongs to <@{series.person}>.", "Ask them about it."
            )
        if series.person:
            return series
        series.person = caller.person
        session.add(series)
        actor = Actor(caller.workspace_id, caller.person, caller.channel, series.team or None)
        facts = {"namespace": series.namespace, "name": series.name}
        record(session, actor, "gpu.claim", ("gpu-series", str(series.id)), facts, at=now)
        return series

    def _is_snoozed(self, session: Session, each: Idle, now: datetime) -> bool:
        run = session.get(Run, each.who.run_id) if each.who.run_id else None
        return run is not None and run.kept_until is not None and run.kept_until > now


def _other(session: Session, series_id: str) -> Series:
    number = whole_number(series_id)
    series = None if number is None else session.get(Series, number)
    if series is None or series.what != What.OTHER:
        raise NotFoundError("This workload is no longer known.", "Run `/gpu idle` again.")
    return series


def _whole_hours(step: timedelta) -> timedelta:
    hour = timedelta(hours=1)
    return -(-step // hour) * hour


def _waiting(
    session: Session, cluster: str, teams: Mapping[str, Team], engine: Engine
) -> list[Waits]:
    """What waits on a cluster, the longest first: from its engine, else from our own runs."""
    runs = _runs(session, cluster)
    found: dict[tuple[str, str], Waits] = {}
    for name, team in teams.items():
        for item in _items(engine, team) if cluster in team.reach else ():
            if item.gpus:
                run = runs.get(item.uid)
                found[item.namespace, item.name] = _of_item(item, name, engine, run)
    for run in runs.values():
        if (run.namespace, run.job_name) not in found and run.team in teams:
            gpus = gpus_of(spec_of(run)) if is_known(run) else Decimal(0)
            if gpus:
                waits = Waits(run.reference, run.team, gpus, run.since, run.reason)
                found[run.namespace, run.job_name] = waits
    return sorted(found.values(), key=lambda each: (each.since is None, each.since, each.name))


def _items(engine: Engine, team: Team) -> Iterable[Item]:
    queue = engine.queues.behind(team.namespace, team.queue)
    names = {each.queue for each in queue.figures} or {queue.name} if queue else set()
    known = (engine.queues.waiting(name) for name in sorted(names))
    return [item for each in known if each for item in each.items]


def _of_item(item: Item, team: str, engine: Engine, run: Run | None) -> Waits:
    blocked = item.blocked
    why = engine.words.causes[blocked.cause][0] if blocked else ""
    if run is not None:
        return Waits(run.reference, run.team, item.gpus, run.since, run.reason or why)
    return Waits(item.name, team, item.gpus, item.created_at, why)


def _runs(session: Session, cluster: str) -> dict[str, Run]:
    """Our own waiting runs, by the uid of their root object, else by their id."""
    chosen = select(Run).where(
        col(Run.cluster) == cluster, col(Run.ended_at).is_(None), col(Run.phase).in_(WAITING)
    )
    return {run.job_uid or run.id: run for run in session.scalars(chosen)}
