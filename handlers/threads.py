"""What each kind of card is called in commands, so that `logs` in its thread needs no name."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from bot.commands.threads import FindObject, ThreadObject
from bot.database.database import Session
from bot.datasets.caches.tables import CACHE, Cache
from bot.datasets.tables import PUSH, VERSION, Push, Version
from bot.slack.grammar.parameters import RunReference
from bot.snapshots.copies.tables import COPY, Copy
from bot.snapshots.deletions.tables import DELETION, Deletion
from bot.snapshots.resizes.tables import RESIZE, Resize
from bot.snapshots.tables import (
    RESTORE,
    REVERT,
    SCHEDULE,
    SNAPSHOT,
    Restore,
    Revert,
    Snapshot,
    SnapshotSchedule,
)
from bot.training.requests.tables import RUN_REQUEST, RunRequest
from bot.training.saved_flows.tables import FLOW, Flow
from bot.training.sweeps.tables import Sweep
from bot.training.tables import FOLLOW, SWEEP, LogFollow, Run
from bot.training.tables import KIND as RUN
from bot.volumes.changes.tables import CHANGE, VolumeChange
from bot.volumes.growths.tables import GROWTH, Growth
from bot.volumes.repairs.tables import REPAIR, Repair
from handlers.dataset.catalogue import DatasetReference, PartReference
from handlers.snapshot.snapshots import ClaimName, SnapshotName
from handlers.train.flows import FlowName

Row = TypeVar("Row")


def _by_id(table: type[Row], describe: Callable[[Session, Row], ThreadObject | None]) -> FindObject:
    def find(session: Session, row_id: str) -> ThreadObject | None:
        row = session.get(table, row_id)
        return describe(session, row) if row is not None else None

    return find


def _run(_session: Session, run: Run) -> ThreadObject:
    return ThreadObject("train", run.team, ((RunReference, run.reference),))


def _followed(session: Session, follow: LogFollow) -> ThreadObject | None:
    run = session.get(Run, follow.run_id)
    return _run(session, run) if run else None


def _requested(session: Session, request: RunRequest) -> ThreadObject | None:
    run = session.get(Run, request.run_id) if request.run_id else None
    return _run(session, run) if run else None


def _sweep(_session: Session, sweep: Sweep) -> ThreadObject:
    return ThreadObject("train", sweep.team, ((RunReference, sweep.name),))


def _flow(_session: Session, flow: Flow) -> ThreadObject:
    return ThreadObject("train", flow.team, ((FlowName, flow.name),))


def _version(_session: Session, version: Version) -> ThreadObject:
    # Not by DatasetName: `remove` would mean the dataset with all its versions.
    return ThreadObject("dataset", version.team, ((DatasetReference, version.reference),))


def _cached(session: Session, cache: Cache) -> ThreadObject | None:
    version = session.get(Version, cache.version_id)
    if version is None or not cache.part:
        return _version(session, version) if version else None
    # `evict` in its thread means these folders, not the cache of the whole version.
    names = ((PartReference, cache.reference), (DatasetReference, version.reference))
    return ThreadObject("dataset", version.team, names)


def _pushed(session: Session, push: Push) -> ThreadObject | None:
    version = session.get(Version, push.version_id) if push.version_id else None
    return _version(session, version) if version else None


def _snapshot(_session: Session, row: Snapshot) -> ThreadObject:
    names = ((SnapshotName, row.name), (ClaimName, row.claim_name))
    return ThreadObject("snapshot", row.team, names, row.cluster)


def _claim(command: str) -> Callable[[Session, Any], ThreadObject]:
    """A row about one PVC."""
    return lambda _session, row: ThreadObject(
        command, row.team, ((ClaimName, row.claim_name),), row.cluster
    )


OBJECTS: Mapping[str, FindObject] = {
    RUN: _by_id(Run, _run),
    FOLLOW: _by_id(LogFollow, _followed),
    SWEEP: _by_id(Sweep, _sweep),
    RUN_REQUEST: _by_id(RunRequest, _requested),
    FLOW: _by_id(Flow, _flow),
    VERSION: _by_id(Version, _version),
    CACHE: _by_id(Cache, _cached),
    PUSH: _by_id(Push, _pushed),
    SNAPSHOT: _by_id(Snapshot, _snapshot),
    RESTORE: _by_id(Restore, _claim("snapshot")),
    RESIZE: _by_id(Resize, _claim("pvc")),
    COPY: _by_id(Copy, _claim("pvc")),
    DELETION: _by_id(Deletion, _claim("pvc")),
    REVERT: _by_id(Revert, _claim("snapshot")),
    SCHEDULE: _by_id(SnapshotSchedule, _claim("snapshot")),
    CHANGE: _by_id(VolumeChange, _claim("anf")),
    GROWTH: _by_id(Growth, _claim("anf")),
    REPAIR: _by_id(Repair, _claim("anf")),
}
"""How to find the object of a message's subject, for each kind that commands can name."""
