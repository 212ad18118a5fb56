"""The controller of snapshots: creates VolumeSnapshots, follows them and deletes them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.clock import Clock
from bot.cluster.cluster import Cluster
from bot.cluster.resources import SNAPSHOTS
from bot.config import Settings, Snapshots
from bot.database.database import Database
from bot.errors import ClusterError
from bot.reconcile.controller import Step, Trouble
from bot.slack.messages import refresh_cards
from bot.snapshots.decision import (
    AwaitDeletion,
    Create,
    Decision,
    Delete,
    Done,
    Fail,
    Gone,
    SnapshotObserved,
    Stay,
    UpdateStatus,
    Wait,
    decide,
)
from bot.snapshots.objects import snapshot_of
from bot.snapshots.observing import observe
from bot.snapshots.planning import unserved
from bot.snapshots.recording import SnapshotFindings, record
from bot.snapshots.tables import SNAPSHOT, Restore, Snapshot, SnapshotPhase
from bot.volumes.records import UNBLOCK, ClaimPlace, stale, why

SOON = timedelta(seconds=2)
_SHOWN_ATTEMPTS = 2
_FIRST, _LONGEST = timedelta(seconds=5), timedelta(minutes=1)
# Watches report changes; this catches what they may have missed.
_DAILY = timedelta(days=1)


@dataclass(frozen=True)
class ControllerContext:
    """What the controllers of snapshots need; `words` formats a command as it is typed."""

    database: Database
    clock: Clock
    settings: Callable[[], Settings]
    clusters: Mapping[str, Cluster]
    words: Callable[[str], str]

    def cluster(self, name: str) -> Cluster:
        """The cluster of that name; raises ClusterError if it is not configured."""
        found = self.clusters.get(name)
        if found is None:
            raise ClusterError(
                f"Cluster {name} is no longer in quartermaster.yaml.",
                "A platform admin has to add it again for as long as it has snapshots.",
                reason="Unreachable",
            )
        return found


class SnapshotController:
    """Reconciles snapshots."""

    kind = SNAPSHOT

    def __init__(self, world: ControllerContext) -> None:
        self._world = world

    def step(self, row_id: str) -> Step:
        """Takes the next step for a snapshot; raises ClusterError if the cluster refuses it."""
        row = self._world.database.read(lambda session: session.get(Snapshot, row_id))
        if row is None or row.is_cleared or row.phase not in set(SnapshotPhase):
            return Step(None)
        now, settings = self._world.clock.now(), self._world.settings().snapshots
        cluster = self._world.cluster(row.cluster)
        look = _look(cluster, row, settings)
        decision = self._act(cluster, row, decide(row, look, now, settings.ready_within))
        if isinstance(decision, Wait):
            return Step(None)
        found = SnapshotFindings(decision, look, now)
        return Step(
            _again(row, decision, now),
            lambda session: record(session, row_id, found, self._world.words),
        )

    def on_failure(self, session: Session, row_id: str, trouble: Trouble) -> None:
        """Shows on the card why steps fail, from the second failure on."""
        note_trouble(session, session.get(Snapshot, row_id), trouble)

    def _act(self, cluster: Cluster, row: Snapshot, decision: Decision) -> Decision:
        """Carries a decision out; returns the decision to record."""
        match decision:
            case Create(plan):
                place = ClaimPlace(row.cluster, row.namespace, row.claim_name)
                moved = self._world.database.read(lambda session: stale(session, place))
                if moved is not None:
                    return Fail(why(moved, "snapshotted"), UNBLOCK)
                return self._create(cluster, row, decision, plan.kind.name)
            case Delete(uid):
                cluster.delete(SNAPSHOTS, row.name, row.namespace, uid=uid)
            case _:
                pass
        return decision

    def _create(self, cluster: Cluster, row: Snapshot, decision: Create, kind: str) -> Decision:
        """Creates the VolumeSnapshot. If its name is taken, the next step finds out by whom."""
        try:
            cluster.create(SNAPSHOTS, snapshot_of(row, kind, cluster.installation), row.namespace)
        except ClusterError as error:
            if error.is_final:
                return Fail(error.message, error.hint)
            if error.reason != "AlreadyExists":
                raise
        return decision


def _look(cluster: Cluster, row: Snapshot, settings: Snapshots) -> SnapshotObserved:
    """What the cluster shows; if it no longer serves snapshots, the problem instead of a plan."""
    try:
        return observe(cluster, row, settings)
    except ClusterError as error:
        if error.reason != "NotServed" or row.uid is not None:
            raise
        return SnapshotObserved(plan=unserved(cluster.name))


def note_trouble(session: Session, row: Snapshot | Restore | None, trouble: Trouble) -> None:
    """Records on a row that its steps failed repeatedly, and refreshes its card."""
    if row is None or trouble.attempts < _SHOWN_ATTEMPTS or row.trouble == trouble.sentence:
        return
    row.trouble = trouble.sentence
    session.add(row)
    refresh_cards(session, row.subject, live=row.is_live)


def slower(since: datetime, now: datetime) -> datetime:
    """When to check again; the longer it has taken, the later."""
    return now + min(max(_FIRST, (now - since) / 10), _LONGEST)


def _again(row: Snapshot, decision: Decision, now: datetime) -> datetime | None:
    """When to check again if nothing wakes the row earlier."""
    match decision:
        case Done():
            return None
        case UpdateStatus(SnapshotPhase.READY) | Stay():
            return now + _DAILY
        case UpdateStatus() | AwaitDeletion():
            return slower(row.since, now)
        case Fail() | Gone() | Create() | Delete():
            return now + SOON
        case _:
            return now + _DAILY
