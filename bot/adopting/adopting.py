"""Adopts what lives of an earlier installation, in one transaction, and reports it."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from sqlmodel import Session, SQLModel

from bot.adopting import installation as installations
from bot.adopting.reading import Content, RaisedQuota, clients, read
from bot.adopting.report import Kind, Line, Report
from bot.adoption import Adoptable, Known, Refused, Verdict
from bot.app import version
from bot.cluster import labels
from bot.cluster.api.client import Client
from bot.config import ConfigurationFile, Settings, with_slack_teams
from bot.database import schema
from bot.database.database import Database
from bot.database.exclusive import alone
from bot.datasets.caches.adoption import caches
from bot.datasets.caches.tables import Cache, CacheShare
from bot.datasets.tables import Push, Version
from bot.quotas.engines.quota import ANNOTATION
from bot.snapshots.adoption import schedules, snapshots
from bot.snapshots.copies.tables import Copy
from bot.snapshots.tables import Restore, Revert
from bot.teams.adoption import teams
from bot.teams.record import teams_of_slack
from bot.training.adoption import runs

# Thousands of rows in one transaction; no server waits for it.
_PATIENCE_SECONDS = 1800.0
_TEAM, _CACHE, _RUN = ("team", "teams"), ("cache", "caches"), ("run", "runs")
_SNAPSHOT, _SCHEDULE = ("snapshot", "snapshots"), ("schedule", "schedules")
_ENDED = ("ended run", "ended runs")
_KINDS = (_TEAM, _CACHE, _RUN, _ENDED, _SNAPSHOT, _SCHEDULE)
_MADE_FOR: tuple[tuple[str, str, type[SQLModel]], ...] = (
    (labels.DATASET_SHARE, "A share of a cache", CacheShare),
    (labels.DATASET_VERSION, "A survey of a dataset", Version),
    (labels.DATASET_PUSH, "A push", Push),
    (labels.DATASET_CACHE, "A cache", Cache),
    (labels.RESTORE, "A restored PVC", Restore),
    (labels.REVERT, "A revert", Revert),
    (labels.PVC_COPY, "A copy of a PVC", Copy),
)


class _TrialError(Exception):
    """Ends the transaction of a trial, so that nothing of it is written."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self.report = report


def adopt_all(path: Path, wanted: str | None, *, is_trial: bool) -> Report:
    """Adopts what lives, unless it is a trial; no server may use the database meanwhile.

    Nothing is changed in the clusters. ConfigurationError, ConflictError, NotFoundError,
    ClusterError or DatabaseError says why nothing was adopted.
    """
    settings = ConfigurationFile(path).load()
    with alone(settings.database.url), closing(Database(settings.database.url)) as database:
        database.read(lambda session: schema.refuse_misfit(session, version()))
        now = datetime.now(UTC)
        return adopt_from(database, settings, clients(settings), wanted, now=now, is_trial=is_trial)


def adopt_from(
    database: Database,
    settings: Settings,
    asked: Mapping[str, Client],
    wanted: str | None,
    *,
    now: datetime,
    is_trial: bool,
) -> Report:
    """The same, with a database and clusters that are open.

    A trial writes, too, and takes it back: so it shows what would be adopted, and nothing else.
    """
    content = read(settings, asked)

    def work(session: Session) -> Report:
        installations.refuse_served(session, database.real_now(session))
        current = installations.current_in(session)
        chosen = installations.choose(content.installations(), wanted, current)
        installations.refuse_used(session, chosen)
        installations.take_over(session, chosen)
        report = _adopted(session, settings, content, chosen, now, is_trial=is_trial)
        if is_trial:
            session.flush()
            raise _TrialError(report)
        return report

    try:
        return database.transaction(work, patience_seconds=_PATIENCE_SECONDS)
    except _TrialError as trial:
        return trial.report


def _adopted(
    session: Session,
    settings: Settings,
    content: Content,
    chosen: str,
    now: datetime,
    *,
    is_trial: bool,
) -> Report:
    found = _Adopting(session, now)
    for team in content.teams(chosen):
        found.take(_TEAM, team.named, teams.examine(session, settings, team))
    settings, _ = with_slack_teams(settings, teams_of_slack(session, settings.workspace))
    for cache in content.caches(chosen):
        found.take(_CACHE, cache.named, caches.examine(session, settings, cache))
    for root in content.roots(chosen):
        kind = _ENDED if root.root.status.is_over else _RUN
        found.take(kind, root.named, runs.examine(session, settings, root, now))
    taken, last_sign = list(content.snapshots(chosen)), content.last_sign(chosen) or now
    for each in taken:
        found.take(_SNAPSHOT, each.named, snapshots.examine(session, settings, each))
    for schedule in schedules.schedules_of(taken):
        verdict = schedules.examine(session, settings, schedule, last_sign, now)
        found.take(_SCHEDULE, schedule.named, verdict)
    return Report(
        installation=chosen,
        is_trial=is_trial,
        kinds=list(found.kinds.values()),
        quotas=[Line(_quota(each, now)) for each in content.quotas(chosen)],
        left=[
            *found.left,
            *map(_unreadable, content.unreadable()),
            *_others(session, content, chosen),
        ],
        elsewhere=sorted(content.installations().keys() - {chosen}),
        unnoted=[each.name for each in content.clusters if not each.keeps_notes],
    )


class _Adopting:
    """Writes what can be adopted, one thing after the other, and notes what becomes of each."""

    def __init__(self, session: Session, now: datetime) -> None:
        self._session = session
        self._now = now
        self.kinds = {names: Kind(*names) for names in _KINDS}
        self.left: list[Line] = []

    def take(self, kind: tuple[str, str], named: str, verdict: Verdict) -> None:
        """Writes the rows of one thing if they can be written, before the next is examined."""
        match verdict:
            case Known():
                self.kinds[kind].known += 1
            case Refused(why):
                self.left.append(Line(named, why))
            case Adoptable(title, write):
                write(self._session, self._now)
                self.kinds[kind].adopted.append(title)


def _quota(raised: RaisedQuota, now: datetime) -> str:
    place, note = raised.place, raised.note
    end = datetime.fromisoformat(note.until)
    when = "at once" if end <= now else f"at {end.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    return (
        f"{raised.kind} {place.queue} on {raised.cluster}, {place.field} of {place.resource}"
        f" ({place.flavor}): {note.value} → {note.baseline} {when}"
    )


def _unreadable(queue: str) -> Line:
    return Line(
        queue,
        f"Its annotation {ANNOTATION} cannot be read. Compare its quotas, set them back by hand,"
        " and remove the annotation.",
    )


def _others(session: Session, content: Content, chosen: str) -> Iterator[Line]:
    """What no row is written for, and the database does not know; it stays as it is."""
    for cluster, kind, each in content.others(chosen):
        if labels.RUN in each.labels:
            continue  # It goes with its run.
        made_for = next((one for one in _MADE_FOR if one[0] in each.labels), None)
        if made_for is None:
            what = "An object"
        else:
            label, what, table = made_for
            if session.get(table, each.labels[label]) is not None:
                continue
        why = f"{what} that this database does not know. Nothing deletes it."
        yield Line(f"{kind} {each.namespace}/{each.name} on {cluster}", why)
