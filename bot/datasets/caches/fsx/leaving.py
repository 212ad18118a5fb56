"""Cleans up a cache on FSx after its PVC is deleted: its volume, its task and its space.

The file system, the file names in it and the objects in the bucket are kept.
"""

from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import VOLUMES
from bot.datasets.caches.fsx.filling import busy, connect, waiting
from bot.datasets.caches.fsx.volume import volume_there
from bot.datasets.caches.tables import Cache
from bot.datasets.fsx.answers import Task, TaskKind
from bot.datasets.fsx.client import Fsx
from bot.datasets.fsx.tables import Import
from bot.datasets.fsx.tasks import begun, failure, progress
from bot.datasets.wording import files
from bot.durations import format_duration
from bot.errors import StorageError
from bot.reconcile.controller import Step
from bot.reconcile.frame import SOON, ControllerContext

_AGAIN = timedelta(seconds=30)
_PATIENCE = timedelta(hours=12)
# Errors after which FSx never releases these files, however often it is asked.
_FINAL = frozenset(
    {"BadRequest", "UnsupportedOperation", "IncompatibleParameterError", "FileSystemNotFound"}
)


def step(context: ControllerContext, cluster: Cluster, cache: Cache, now: datetime) -> Step | None:
    """The next step; None if nothing is left to do, or the cache is not on FSx."""
    imported = context.database.read(lambda session: session.get(Import, cache.id))
    if imported is None or imported.released_at is not None:
        return None
    volume = volume_there(cluster, cache)
    ours = {labels.DATASET_CACHE: cache.id, labels.INSTALLATION: cluster.installation}
    if volume is not None and ours.items() <= volume.labels.items():
        if volume.metadata.deletion_timestamp is None:
            cluster.delete(VOLUMES, volume.name, uid=volume.uid)
        return Step(now + SOON)
    if imported.imported_at is None and not imported.association_id:
        return Step(now, _done(cache.id, "", now))
    with closing(connect(context.settings())) as fsx:
        try:
            if imported.imported_at is None:
                return _end_import(fsx, cache, imported, now)
            return _release(fsx, cache, imported, cluster.installation, now)
        except StorageError as error:
            if error.code not in _FINAL:
                raise
            return Step(now, _done(cache.id, error.message, now))


def _end_import(fsx: Fsx, cache: Cache, imported: Import, now: datetime) -> Step:
    """Cancels an import that is no longer needed; it would block others of its file system."""
    task = next(
        (
            each
            for each in fsx.tasks(imported.file_system)
            if each.kind == TaskKind.IMPORT and each.tags.get(labels.DATASET_CACHE) == cache.id
        ),
        None,
    )
    if task is None or not task.is_going_on:
        return Step(now, _done(cache.id, "", now))
    if task.lifecycle != "CANCELING":
        fsx.cancel(task.id)
    return Step(now + _AGAIN, waiting(cache.id, f"Cancelling its import: {task.id}."))


def _release(fsx: Fsx, cache: Cache, imported: Import, installation: str, now: datetime) -> Step:
    since = imported.release_begun_at
    if since is not None and now - since > _PATIENCE:
        within = format_duration(_PATIENCE)
        return Step(now, _done(cache.id, f"FSx did not release it within {within}.", now))
    if not imported.release_id:
        task = begun(fsx, imported, TaskKind.RELEASE, installation)
        if task is None:
            return Step(now + _AGAIN, _noted(cache.id, None, busy(imported.file_system), now))
        said = f"Releasing its space: {progress(task)}."
        return Step(now + _AGAIN, _noted(cache.id, task, said, now))
    task = fsx.task(imported.release_id)
    if task is not None and task.is_going_on:
        said = f"Releasing its space: {progress(task)}."
        return Step(now + _AGAIN, waiting(cache.id, said))
    return Step(now, _done(cache.id, _kept(task), now))


def _kept(task: Task | None) -> str:
    """What was not released, as a sentence; empty if everything was."""
    if task is None:
        return "FSx no longer knows its task, so what it released is unknown."
    if task.lifecycle != "SUCCEEDED":
        return failure(task)
    were = "was" if task.failed == 1 else "were"
    return f"{task.failed:,} of {files(task.total)} {were} not released." if task.failed else ""


def _noted(cache_id: str, task: Task | None, why: str, now: datetime) -> Callable[[Session], None]:
    """Records what a release waits for, and its task once there is one."""
    show = waiting(cache_id, why)

    def save(session: Session) -> None:
        row = session.get_one(Import, cache_id)
        row.release_begun_at = row.release_begun_at or now
        row.release_id = task.id if task is not None else ""
        session.add(row)
        show(session)

    return save


def _done(cache_id: str, kept: str, now: datetime) -> Callable[[Session], None]:
    def save(session: Session) -> None:
        row = session.get_one(Import, cache_id)
        row.released_at, row.kept = now, kept
        session.add(row)

    return save
