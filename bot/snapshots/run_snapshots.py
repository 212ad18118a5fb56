"""Snapshots of the ends of runs: checked when a run is submitted, taken when it ends."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from sqlmodel import Session

from bot.audit import Actor, record
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PVCS
from bot.config import Settings, Team
from bot.errors import ConflictError, NotFoundError
from bot.people.access import Access, Caller, Right
from bot.snapshots import finding
from bot.snapshots.examining import SnapshotPlan, examine, in_view
from bot.snapshots.objects import name_for_run
from bot.snapshots.planning import kept_until, note_plan, plan_of, refuse_class
from bot.snapshots.restores.service import RestoreRequest, RestoreService, unusable
from bot.snapshots.snapshots.service import begin
from bot.snapshots.tables import SNAPSHOT, Snapshot


@dataclass(frozen=True)
class RunEnd:
    """The end of a run whose PVC is to be snapshotted.

    `data` are the dataset versions that it read, each with its digest; with `keep` None the
    snapshot is kept as long as the settings say.
    """

    workspace_id: str
    run_id: str
    run: str
    team: str
    person: str
    channel: str
    cluster: str
    namespace: str
    claim: str
    data: Sequence[tuple[str, str]] = ()
    keep: timedelta | Literal["off"] | None = None


@dataclass(frozen=True)
class RestoredClaim:
    """A run that starts on a PVC restored from a snapshot."""

    run_id: str
    run: str
    claim: str


class RunSnapshots:
    """What training calls; it writes within the caller's transaction."""

    def __init__(
        self, settings: Callable[[], Settings], clusters: Mapping[str, Cluster], access: Access
    ) -> None:
        self._settings = settings
        self._clusters = clusters
        self._access = access
        self._restoring = RestoreService(settings, clusters)

    def refuse(self, caller: Caller, team: Team, claim: str, *, is_mounted: bool) -> None:
        """Raises UserError if the caller may not take a snapshot of a PVC, or it cannot have one.

        A PVC that the run mounts may get its volume only then, so its storage class is checked.
        """
        self._access.require(caller, Right.SNAPSHOT_CREATE)
        cluster, settings = self._clusters[team.cluster], self._settings().snapshots
        if not cluster.view.store(PVCS).synced:
            return
        found = cluster.view.get(PVCS, claim, team.namespace)
        if found is not None and is_mounted and found.status.phase == "Pending":
            refuse_class(cluster, found.spec.storage_class_name or "", settings)
        else:
            plan_of(cluster, caller.team or "", team, claim, settings)

    def refuse_class(self, caller: Caller, team: Team, storage_class: str) -> None:
        """Raises UserError if the caller may not take snapshots, or the class has none."""
        self._access.require(caller, Right.SNAPSHOT_CREATE)
        refuse_class(self._clusters[team.cluster], storage_class, self._settings().snapshots)

    def take(self, session: Session, end: RunEnd, now: datetime) -> Snapshot:
        """Begins the snapshot of a run's end; idempotent.

        What the watches do not show yet is checked by the controller, which reports failures.
        """
        name = name_for_run(end.claim, end.run_id)
        there = finding.at(session, end.cluster, end.namespace, name)
        if there is not None:
            return there
        row = Snapshot(
            workspace_id=end.workspace_id,
            team=end.team,
            person=end.person,
            channel=end.channel,
            cluster=end.cluster,
            namespace=end.namespace,
            claim_name=end.claim,
            claim_uid="",
            storage_class="",
            driver="",
            capacity_bytes=0,
            name=name,
            run_id=end.run_id,
            run=end.run,
            data=[list(each) for each in end.data],
            keep_until=kept_until(end.keep, self._settings().snapshots, now),
            asked_at=now,
            since=now,
        )
        note_plan(row, self._plan(end))
        begin(session, row, now)
        actor = Actor(end.workspace_id, end.person, end.channel, end.team)
        facts = {"pvc": row.claim_name, "name": row.name, "run": row.run}
        record(session, actor, "snapshot.create", (SNAPSHOT, row.id), facts, at=now)
        return row

    def refuse_restoring(self, caller: Caller, team: Team, row: Snapshot) -> None:
        """Raises UserError if the caller may not start a run on a snapshot, or it is unusable."""
        self._access.require(caller, Right.SNAPSHOT_RESTORE)
        if not row.is_usable:
            raise unusable(row)
        if (row.cluster, row.namespace) != (team.cluster, team.namespace):
            raise ConflictError(
                f"{row.name} is in namespace {row.namespace} of cluster {row.cluster}, but the run"
                f" would be in {team.namespace} of {team.cluster}.",
                "A run can mount only PVCs of its own namespace.",
            )

    def restore(
        self, session: Session, caller: Caller, snapshot_id: str, use: RestoredClaim, now: datetime
    ) -> None:
        """Begins the restore to the PVC that a run starts on; raises UserError if impossible."""
        row = session.get(Snapshot, snapshot_id)
        if row is None:
            raise NotFoundError("The snapshot that the run should start from no longer exists.")
        made = self._restoring.restore(session, caller, row, RestoreRequest(use.claim), now)
        made.run_id, made.run = use.run_id, use.run
        session.add(made)

    def _plan(self, end: RunEnd) -> SnapshotPlan | None:
        """How it would be taken, as far as the watches show."""
        cluster = self._clusters.get(end.cluster)
        if cluster is None:
            return None
        around = in_view(cluster, end.namespace, end.claim)
        found = examine(around, end.claim, end.team, self._settings().snapshots)
        return found if isinstance(found, SnapshotPlan) else None
