"""Adopts what lives of an earlier installation, in one transaction, and reports it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlmodel import Session

from bot.adopting import installation as installations
from bot.adopting.reading import Content, RaisedQuota, clients, read
from bot.app import version
from bot.cluster import labels
from bot.cluster.api.client import Client
from bot.cluster.types.objects import ClusterObject
from bot.config import ConfigurationFile, Settings
from bot.database import schema
from bot.database.database import Database
from bot.database.exclusive import alone
from bot.quotas.engines.quota import ANNOTATION
from bot.training.adoption.runs import Adoptable, Known, Refused, adopt, examine

_MADE_FOR: Mapping[str, str] = {
    labels.DATASET_CACHE: "cache",
    labels.DATASET_SHARE: "share of a cache",
    labels.DATASET_VERSION: "survey of a dataset",
    labels.DATASET_PUSH: "push",
    labels.SNAPSHOT: "snapshot",
    labels.RESTORE: "restored PVC",
    labels.REVERT: "revert",
    labels.PVC_COPY: "copy of a PVC",
}
_STAYS = "Nothing deletes it."


@dataclass(frozen=True)
class Line:
    """One thing that was found, for the report; `why` says why it is not adopted."""

    what: str
    why: str = ""


@dataclass(frozen=True)
class Report:
    """What was found and adopted; with `is_trial` nothing was written.

    `elsewhere` are installations whose objects were left alone. `unnoted` are the clusters whose
    queues say nothing of overrides.
    """

    installation: str
    is_trial: bool
    runs: Sequence[Line]
    known: int
    quotas: Sequence[Line]
    left: Sequence[Line]
    elsewhere: Sequence[str]
    unnoted: Sequence[str]

    def lines(self) -> Iterator[str]:
        """The report as people read it."""
        yield f"Installation {self.installation}"
        yield from _section("Runs to adopt" if self.is_trial else "Adopted runs", self.runs)
        if self.known:
            yield f"Known already: {self.known} run{'' if self.known == 1 else 's'}."
        yield from _section("Quotas that the server sets back", self.quotas)
        yield from _section("Not adopted", self.left)
        for each in self.elsewhere:
            yield f"Installation {each} has objects too. They were left alone."
        for each in self.unnoted:
            yield (
                f"The queues of cluster {each} have no annotations, so it is not known which"
                " quotas are raised. Compare them, and set them back by hand."
            )
        yield (
            "Lost for good: who asked for and approved changes, the audit log, runs that had no"
            " object yet or have ended, and settings that were made in Slack."
        )


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
    """The same, with a database and clusters that are open."""
    content = read(settings, asked)

    def work(session: Session) -> Report:
        installations.refuse_served(session, database.real_now(session))
        current = installations.current_in(session)
        chosen = installations.choose(content.installations(), wanted, current)
        installations.refuse_used(session, chosen)
        if not is_trial:
            installations.take_over(session, chosen)
        return _adopted(session, settings, content, chosen, now, is_trial=is_trial)

    return database.read(work) if is_trial else database.transaction(work)


def _adopted(
    session: Session,
    settings: Settings,
    content: Content,
    chosen: str,
    now: datetime,
    *,
    is_trial: bool,
) -> Report:
    runs: list[Line] = []
    left: list[Line] = []
    known = 0
    for found in content.roots(chosen):
        match examine(session, settings, found, now):
            case Known():
                known += 1
            case Refused(why):
                left.append(Line(found.named, why))
            case Adoptable(run) as adoptable:
                runs.append(Line(f"{run.reference} of {run.team}: {found.named}"))
                if not is_trial:
                    adopt(session, adoptable, now)
    return Report(
        installation=chosen,
        is_trial=is_trial,
        runs=runs,
        known=known,
        quotas=[Line(_quota(each, now)) for each in content.quotas(chosen)],
        left=[*left, *map(_unreadable, content.unreadable()), *_others(content, chosen)],
        elsewhere=sorted(content.installations().keys() - {chosen}),
        unnoted=[each.name for each in content.clusters if not each.keeps_notes],
    )


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


def _others(content: Content, chosen: str) -> Iterator[Line]:
    """What is not a run: it stays as it is, unknown to the new database."""
    for cluster, kind, each in content.others(chosen):
        if labels.RUN in each.labels:
            continue  # It goes with its run.
        what = next((name for key, name in _MADE_FOR.items() if key in each.labels), "object")
        yield Line(f"{kind} {each.namespace}/{each.name} on {cluster}", _next_step(what, each))


def _next_step(what: str, each: ClusterObject) -> str:
    made = f"A {what} that this database does not know. {_STAYS}"
    if labels.DATASET_CACHE in each.labels:
        return f"{made} `/qm leftovers --platform` offers to; cache the version again first."
    return made


def _section(title: str, lines: Sequence[Line]) -> Iterator[str]:
    if lines:
        yield f"{title}:"
    for each in lines:
        yield f"  {each.what}{f': {each.why}' if each.why else ''}"
