"""Begins restores and clones. Only checks and writes rows; controllers do the rest."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from sqlmodel import Session, col, select

from bot import holds
from bot.audit import Actor, record
from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PVCS, STORAGE_CLASSES
from bot.cluster.types.claims import TRIDENT, StorageClass
from bot.config import ClusterSettings, Settings, Team
from bot.database.columns import new_id
from bot.datasets.caches.using import THERE, DataReadiness
from bot.datasets.wording import capacity
from bot.errors import ConflictError, NotAllowedError, NotFoundError, UsageError
from bot.holds import Hold
from bot.people.access import Caller, bound
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.slack.messages import refresh_cards, show_card
from bot.snapshots import finding
from bot.snapshots.classes import READ_ONLY_MANY, access_mode
from bot.snapshots.examining import in_view, not_theirs
from bot.snapshots.objects import object_name
from bot.snapshots.tables import RESTORE, SNAPSHOT, Restore, RestorePhase, Revert, Snapshot
from bot.volumes.records import ClaimPlace, refuse_stale


@dataclass(frozen=True)
class RestoreRequest:
    """The requested PVC of a restore; None keeps the value of the source."""

    name: str | None = None
    size_bytes: int | None = None
    storage_class: str | None = None
    is_read_only: bool = False


@dataclass(frozen=True)
class _Source:
    """The source of a restore; `into` is the target namespace if it is another one."""

    snapshot_id: str | None
    name: str
    uid: str
    claim: str
    cluster: str
    namespace: str
    driver: str
    storage_class: str
    least_bytes: int
    into: str | None = None


class RestoreService:
    """The service that handlers call; each method writes in the caller's transaction.

    The right of a `Caller` to use the verb was checked before.
    """

    def __init__(self, settings: Callable[[], Settings], clusters: Mapping[str, Cluster]) -> None:
        self._settings = settings
        self._clusters = clusters

    def restore(
        self,
        session: Session,
        caller: Caller,
        snapshot: Snapshot,
        request: RestoreRequest,
        now: datetime,
        target: Caller | None = None,
    ) -> Restore:
        """Begins the restore of a snapshot, which it holds; raises UserError if impossible.

        `target` is the caller as a member of the other team that the PVC is created for.
        """
        row = self.foresee(session, caller, snapshot, request, now, target)
        _begin(session, target or caller, row, now)
        why = f"The restore to PVC {row.claim_name}"
        hold = Hold(
            thing_kind=SNAPSHOT, thing_id=snapshot.id, subject_kind=RESTORE, subject_id=row.id,
            why=why, until=None,
        )  # fmt: skip
        holds.take(session, hold)
        return row

    def foresee(
        self,
        session: Session,
        caller: Caller,
        snapshot: Snapshot,
        request: RestoreRequest,
        now: datetime,
        target: Caller | None = None,
    ) -> Restore:
        """The restore that would begin, which is not stored; UserError if impossible."""
        if caller.team != snapshot.team:
            raise NotAllowedError(
                f"{snapshot.name} belongs to {snapshot.team}, and is restored in that team's"
                " namespace.",
                "Ask a member of that team.",
            )
        if not snapshot.is_usable:
            raise unusable(snapshot)
        source = _Source(
            snapshot.id, snapshot.name, snapshot.uid or "", snapshot.claim_name, snapshot.cluster,
            snapshot.namespace, snapshot.driver, snapshot.storage_class,
            snapshot.size_bytes or snapshot.capacity_bytes,
        )  # fmt: skip
        if target is not None and target.team != snapshot.team:
            settings = self._settings()
            cluster = self._clusters[snapshot.cluster]
            team = settings.teams[target.team or ""]
            into = _other_namespace(cluster, snapshot, team, is_read_only=request.is_read_only)
            source = replace(source, into=into)
        return self._row(session, target or caller, source, request, now)

    def clone(
        self,
        session: Session,
        caller: Caller,
        claim: str,
        request: RestoreRequest,
        now: datetime,
        cluster: str | None = None,
    ) -> Restore:
        """Begins a clone of a PVC; raises UserError if impossible."""
        row = self.foresee_clone(session, caller, claim, request, now, cluster)
        _begin(session, caller, row, now)
        return row

    def foresee_clone(
        self,
        session: Session,
        caller: Caller,
        claim: str,
        request: RestoreRequest,
        now: datetime,
        cluster: str | None = None,
    ) -> Restore:
        """The clone that would begin, which is not stored; UserError if impossible."""
        team = self._settings().teams[caller.team or ""]
        team = bound(caller.team or "", team, cluster)
        around = in_view(self._clusters[team.cluster], team.namespace, claim)
        if around.claim is None:
            raise NotFoundError(
                f"There is no PVC {claim} in namespace {team.namespace}.",
                f"List them: kubectl get pvc -n {team.namespace}",
            )
        problem = not_theirs(around.claim, caller.team or "")
        if problem is not None:
            raise ConflictError(problem.reason, problem.unblock)
        csi = around.volume.spec.csi if around.volume is not None else None
        if around.claim.status.phase != "Bound" or csi is None:
            raise ConflictError(
                f"PVC {claim} has no volume of a CSI driver, which clones need.",
                "Most PVCs get their volume when the first run mounts them.",
            )
        least = int(around.claim.status.capacity.get("storage") or 0)
        source = _Source(
            None, claim, around.claim.uid, claim, team.cluster, team.namespace, csi.driver,
            around.claim.spec.storage_class_name or "", least,
        )  # fmt: skip
        return self._row(session, caller, source, request, now)

    def _row(
        self,
        session: Session,
        caller: Caller,
        source: _Source,
        request: RestoreRequest,
        now: datetime,
    ) -> Restore:
        place = ClaimPlace(source.cluster, source.namespace, source.claim)
        refuse_stale(session, place, "restored or cloned")
        row_id = new_id()
        name = request.name or object_name(source.claim, row_id)
        self._refuse_taken(session, source.cluster, source.into or source.namespace, name)
        kind, size = self._class(source, request), _size(source, request)
        mode = READ_ONLY_MANY if request.is_read_only else self._mode(source, kind)
        return Restore(
            id=row_id,
            workspace_id=caller.workspace_id,
            team=caller.team or "",
            person=caller.person,
            channel=caller.channel,
            cluster=source.cluster,
            namespace=source.into or source.namespace,
            source_namespace=source.namespace if source.into is not None else None,
            snapshot_id=source.snapshot_id,
            source=source.name,
            source_uid=source.uid,
            of_claim=source.claim,
            claim_name=name,
            storage_class=kind.name,
            access_mode=mode,
            size_bytes=size,
            is_read_only=request.is_read_only,
            asked_at=now,
            since=now,
        )

    def _refuse_taken(self, session: Session, cluster: str, namespace: str, name: str) -> None:
        live = session.exec(
            select(Restore).where(
                col(Restore.cluster) == cluster,
                col(Restore.namespace) == namespace,
                col(Restore.claim_name) == name,
                col(Restore.ended_at).is_(None),
            )
        ).first()
        if live is not None:
            raise ConflictError(
                f"PVC {name} is already being created for <@{live.person}>.",
                f"Its card in <#{live.channel}> shows the progress. For another PVC: --as NAME.",
            )
        if self._clusters[cluster].view.get(PVCS, name, namespace) is not None:
            raise ConflictError(
                f"Namespace {namespace} already has a PVC {name}. Nothing was changed.",
                "Choose another name: --as NAME.",
            )

    def _class(self, source: _Source, request: RestoreRequest) -> StorageClass:
        """The storage class of the new PVC, which has to use the driver of the source."""
        view = self._clusters[source.cluster].view
        name = request.storage_class or source.storage_class
        kind = view.get(STORAGE_CLASSES, name)
        of_driver = sorted(
            each.name for each in view.all(STORAGE_CLASSES) if each.provisioner == source.driver
        )
        which = f"Choose one of {source.driver} with --class: {', '.join(of_driver) or 'none'}."
        if kind is None:
            raise UsageError(f"The cluster has no storage class {name}.", which)
        if kind.provisioner != source.driver:
            raise UsageError(
                f"Storage class {name} uses {kind.provisioner}, but {source.name} is of"
                f" {source.driver}: only that driver can create volumes from it.",
                which,
            )
        if request.is_read_only and source.driver != TRIDENT:
            raise ConflictError(
                f"Only Trident can show a snapshot without copying it. {source.name} uses"
                f" {source.driver}.",
                "Omit --read-only: the new PVC is then a copy.",
            )
        return kind

    def _mode(self, source: _Source, kind: StorageClass) -> str:
        clusters = self._settings().clusters
        told = clusters.get(source.cluster, ClusterSettings()).access_modes
        return access_mode(kind, {name: str(mode) for name, mode in told.items()})


def unusable(row: Snapshot) -> ConflictError:
    """The error that a snapshot cannot be restored at present."""
    return ConflictError(
        f"{row.name} cannot be restored: it is not ready, or is being deleted.",
        "Its card shows its state.",
    )


def _size(source: _Source, request: RestoreRequest) -> int:
    """The size of the new PVC in bytes; raises UsageError if it is too small."""
    size = request.size_bytes or source.least_bytes
    if size < source.least_bytes:
        raise UsageError(
            f"{capacity(size)} is less than what {source.name} needs:"
            f" {capacity(source.least_bytes)}.",
            "Omit --size, or ask for at least that much.",
        )
    return size


def _begin(session: Session, caller: Caller, row: Restore, now: datetime) -> None:
    """Stores a new restore with its card, and wakes its controller."""
    session.add(row)
    session.flush()
    verb = "restore" if row.snapshot_id is not None else "clone"
    facts = {"from": row.source, "pvc": row.claim_name, "class": row.storage_class}
    actor = Actor(caller.workspace_id, caller.person, caller.channel, caller.team)
    record(session, actor, f"snapshot.{verb}", (RESTORE, row.id), facts, at=now)
    show_card(session, row.subject, row.channel, now, live=True, owner=row.person)
    wake(session, RESTORE, row.id, cluster_lane(row.cluster), now)


def _other_namespace(
    cluster: Cluster, snapshot: Snapshot, team: Team, *, is_read_only: bool
) -> str | None:
    """The other team's namespace, or None if it is the snapshot's own.

    Raises UserError if the snapshot cannot be restored there.
    """
    if snapshot.cluster not in team.reach:
        raise ConflictError(
            f"{snapshot.name} is in cluster {snapshot.cluster}, which that team does not use.",
            f"It uses: {', '.join(team.reach)}.",
        )
    namespace = team.on(snapshot.cluster).namespace
    if namespace == snapshot.namespace:
        return None
    if is_read_only:
        raise UsageError(
            "--read-only works only in the snapshot's own namespace.",
            "Omit it: the new PVC is then a copy.",
        )
    if snapshot.driver != TRIDENT:
        raise ConflictError(
            f"Kubernetes restores a snapshot only in its own namespace. Trident can restore one in"
            f" another namespace, but {snapshot.name} uses {snapshot.driver}.",
            "Restore it here, then push what the other team needs as a dataset.",
        )
    claim = cluster.view.get(PVCS, snapshot.claim_name, snapshot.namespace)
    told = "" if claim is None else claim.metadata.annotations.get(labels.CLONED_TO, "")
    if not {namespace, "*"} & set(told.split(",")):
        allow = ",".join(filter(None, (told, namespace)))
        raise ConflictError(
            f"PVC {snapshot.claim_name} does not allow clones in namespace {namespace}: its"
            f" annotation {labels.CLONED_TO} does not list that namespace.",
            f"Anyone who may change the PVC can allow it: kubectl annotate --overwrite pvc"
            f" {snapshot.claim_name} -n {snapshot.namespace} {labels.CLONED_TO}={allow}",
        )
    return namespace


def begin_clone(session: Session, revert: Revert, now: datetime) -> Restore:
    """Begins a clone of the PVC that is to be reverted."""
    row_id = new_id()
    row = Restore(
        id=row_id,
        workspace_id=revert.workspace_id,
        team=revert.team,
        person=revert.person,
        channel=revert.channel,
        cluster=revert.cluster,
        namespace=revert.namespace,
        snapshot_id=None,
        source=revert.claim_name,
        source_uid=revert.claim_uid,
        of_claim=revert.claim_name,
        claim_name=object_name(revert.claim_name, row_id),
        storage_class=revert.storage_class,
        access_mode=revert.access_mode,
        size_bytes=revert.size_bytes,
        # ONTAP refuses to revert a volume while a clone depends on its current data.
        is_split=True,
        asked_at=now,
        since=now,
    )
    session.add(row)
    session.flush()
    show_card(session, row.subject, row.channel, now, live=True, owner=row.person)
    wake(session, RESTORE, row.id, cluster_lane(row.cluster), now)
    return row


def cancel_clone(session: Session, revert: Revert, now: datetime) -> None:
    """Cancels the clone, unless it already exists."""
    row = session.get(Restore, revert.clone_id) if revert.clone_id is not None else None
    if row is None or not row.is_live:
        return
    row.cancelled_by, revert.clone = revert.cancelled_by, ""
    session.add(row)
    refresh_cards(session, row.subject, live=True)
    wake(session, RESTORE, row.id, cluster_lane(row.cluster), now)


def data_readiness(session: Session, run_id: str) -> DataReadiness:
    """What a run that starts on a snapshot waits for, or why its PVC failed."""
    row = finding.for_run(session, run_id)
    if row is None:
        return DataReadiness(failed="The PVC that the run should start on no longer exists.")
    if row.phase in {RestorePhase.FAILED, RestorePhase.CANCELLED}:
        said = f"PVC {row.claim_name} was not created from {row.source}. {row.reason}"
        return DataReadiness(failed=said, advice=row.unblock)
    # If its class creates volumes only for a pod, the volume appears when the run mounts it.
    if row.phase in {RestorePhase.READY, RestorePhase.WAITING}:
        return THERE
    trouble = f"{row.trouble} Retrying." if row.trouble else ""
    said = f"Waiting for PVC {row.claim_name}, which is being created from {row.source}."
    return DataReadiness(waits=" ".join(filter(None, (said, row.obstacle, trouble))))
