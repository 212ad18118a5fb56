"""Fills a cache on FSx: FSx imports the file names, then a Job reads every file once."""

from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import VOLUMES
from bot.config import Settings
from bot.datasets.caches.decide import CacheObserved
from bot.datasets.caches.fsx.volume import volume_of_import, volume_there
from bot.datasets.caches.record import CacheFindings, record
from bot.datasets.caches.tables import Cache, CachePhase
from bot.datasets.fsx.answers import Task, TaskKind
from bot.datasets.fsx.client import Fsx
from bot.datasets.fsx.linking import UNLINKED, link_of
from bot.datasets.fsx.tables import Import
from bot.datasets.fsx.tasks import begun, failure, progress
from bot.durations import format_duration
from bot.errors import StorageError
from bot.reconcile.controller import Step
from bot.reconcile.decisions import Fail
from bot.reconcile.frame import SOON, ControllerContext, create_once
from bot.slack.messages import refresh_cards

IMPORTING, READING = "importing", "verifying"
_AGAIN = timedelta(seconds=30)
_LEAST_PATIENCE, _SLOWEST_PER_SECOND = timedelta(hours=6), 200
_CACHE_AGAIN = "Cache it again."
# Errors that FSx returns again, however often it is asked.
_FINAL = frozenset({"BadRequest", "UnsupportedOperation", "IncompatibleParameterError", UNLINKED})


def connect(settings: Settings) -> Fsx:
    """A client for FSx as configured now; StorageError if it is not configured."""
    datasets = settings.datasets
    if datasets is None or datasets.fsx is None:
        raise StorageError(
            "datasets.fsx is no longer in quartermaster.yaml.",
            "A platform admin must add it again until no cache is on FSx.",
        )
    return Fsx(datasets.fsx)


def step(context: ControllerContext, cluster: Cluster, cache: Cache, now: datetime) -> Step | None:
    """The next step of an import; None if nothing is left to do before the files are read."""
    imported = context.database.read(lambda session: session.get(Import, cache.id))
    if imported is None or cache.phase not in {
        CachePhase.ASKED,
        CachePhase.STARTING,
        CachePhase.FILLING,
    }:
        return None
    if imported.imported_at is not None:
        return _volume(context, cluster, cache, imported, now)
    with closing(connect(context.settings())) as fsx:
        try:
            if not imported.association_id:
                return _look(fsx, cache, imported, now)
            if not imported.task_id:
                return _begin(fsx, cache, imported, cluster.installation, now)
            return _follow(context, fsx, cache, imported, now)
        except StorageError as error:
            if error.code not in _FINAL:
                raise
            mend = error.hint or "An admin must check it in FSx."
            return _fail(context, cache, Fail(error.message, mend), now)


def _look(fsx: Fsx, cache: Cache, imported: Import, now: datetime) -> Step:
    """Checks that the file system is linked as configured, and records its addresses."""
    found = link_of(fsx, imported.linked)
    if found is None:
        return _wait(cache, f"File system {imported.file_system} is being created.", now)
    system, link = found

    def save(session: Session) -> None:
        row = session.get_one(Import, cache.id)
        row.association_id = link.id
        row.dns_name, row.mount_name = system.dns_name, system.mount_name
        session.add(row)

    return Step(now + SOON, save)


def _begin(fsx: Fsx, cache: Cache, imported: Import, installation: str, now: datetime) -> Step:
    task = begun(fsx, imported, TaskKind.IMPORT, installation)
    if task is None:
        return _wait(cache, busy(imported.file_system), now)

    def save(session: Session) -> None:
        row = session.get_one(Import, cache.id)
        row.task_id, row.begun_at = task.id, now
        session.add(row)
        _show(session, cache.id, task, now)

    return Step(now + _AGAIN, save)


def busy(file_system: str) -> str:
    """What a task waits for if another one runs, as a sentence."""
    return (
        f"FSx runs one task per file system at a time, and {file_system} has another one running."
    )


def _follow(
    context: ControllerContext, fsx: Fsx, cache: Cache, imported: Import, now: datetime
) -> Step:
    task = fsx.task(imported.task_id)
    if task is None:
        said = f"FSx no longer knows {imported.task_id}, so its result is unknown."
        return _fail(context, cache, Fail(said, _CACHE_AGAIN), now)
    if task.lifecycle == "SUCCEEDED":
        return Step(now + SOON, lambda session: _imported(session, cache.id, now))
    if task.lifecycle not in {"PENDING", "EXECUTING"}:
        mend = "Check the folder in FSx, then cache it again."
        return _fail(context, cache, Fail(failure(task), mend), now)
    longest = _LEAST_PATIENCE + timedelta(seconds=cache.objects / _SLOWEST_PER_SECOND)
    if now - (imported.begun_at or now) > longest:
        fsx.cancel(task.id)
        said = f"It was not imported within {format_duration(longest)}: {progress(task)}."
        return _fail(context, cache, Fail(said, _CACHE_AGAIN, word="deadline"), now)
    return Step(now + _AGAIN, lambda session: _show(session, cache.id, task, now))


def _volume(
    context: ControllerContext, cluster: Cluster, cache: Cache, imported: Import, now: datetime
) -> Step | None:
    """Creates the PersistentVolume of the folder; None once it exists."""
    volume = volume_there(cluster, cache)
    if volume is None and cache.claim_uid is not None:
        return None  # It was deleted by others, which the PVC will show.
    if volume is None:
        body = volume_of_import(cache, imported, cluster.installation)
        refusal = create_once(cluster, VOLUMES, body, None)
        if refusal is not None:
            return _fail(context, cache, Fail(refusal.message, refusal.hint), now)
        return Step(now + SOON)
    ours = {labels.DATASET_CACHE: cache.id, labels.INSTALLATION: cluster.installation}
    if not ours.items() <= volume.labels.items():
        said = f"PersistentVolume {volume.name} already exists and belongs to something else"
        return _fail(context, cache, Fail(f"{said}, so it was not changed.", _CACHE_AGAIN), now)
    return None


def _imported(session: Session, cache_id: str, now: datetime) -> None:
    imported = session.get_one(Import, cache_id)
    imported.imported_at = now
    cache = session.get_one(Cache, cache_id)
    cache.phase, cache.since, cache.stage, cache.files_done = CachePhase.STARTING, now, READING, 0
    cache.obstacle = cache.trouble = ""
    session.add_all((imported, cache))
    refresh_cards(session, cache.subject, live=True)


def _show(session: Session, cache_id: str, task: Task, now: datetime) -> None:
    """Shows the progress of the import on the card."""
    cache = session.get_one(Cache, cache_id)
    if cache.phase != CachePhase.FILLING:
        cache.phase, cache.since, cache.stage = CachePhase.FILLING, now, IMPORTING
    cache.files_done, cache.obstacle, cache.trouble = task.succeeded, "", ""
    session.add(cache)
    refresh_cards(session, cache.subject, live=True)


def _wait(cache: Cache, why: str, now: datetime) -> Step:
    return Step(now + _AGAIN, waiting(cache.id, why))


def waiting(cache_id: str, why: str) -> Callable[[Session], None]:
    """Shows on the card what the cache is waiting for."""

    def save(session: Session) -> None:
        cache = session.get_one(Cache, cache_id)
        if (cache.obstacle, cache.trouble) != (why, ""):
            cache.obstacle, cache.trouble = why, ""
            session.add(cache)
            refresh_cards(session, cache.subject, live=True)

    return save


def _fail(context: ControllerContext, cache: Cache, why: Fail, now: datetime) -> Step:
    found = CacheFindings(why, CacheObserved(), now)
    return Step(
        now + SOON, lambda session: record(session, cache.id, found, context.format_command)
    )
