"""Controller of pushes: mounts the source where the keys are, runs a Job, and cleans up."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from sqlmodel import Session
from typing_extensions import override

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import JOBS, PVCS, SNAPSHOTS, STORAGE_CLASSES, Resource
from bot.datasets import bounds
from bot.datasets.bounds import StoreUse
from bot.datasets.caches.tables import CacheShare
from bot.datasets.drops.tables import Drop, DropPhase
from bot.datasets.job import Manifest
from bot.datasets.pushes import job
from bot.datasets.pushes.decide import (
    AwaitDeletion,
    Decision,
    Make,
    PushObserved,
    Remove,
    RestoredPart,
    decide,
)
from bot.datasets.pushes.job import push_job, receive_job
from bot.datasets.pushes.observe import observe
from bot.datasets.pushes.record import PushFindings, Ways, record
from bot.datasets.pushes.versions import Makers, Versions
from bot.datasets.tables import PUSH, Push, PushPhase
from bot.datasets.versions.controller import FIRST_LOOK
from bot.errors import StorageError
from bot.reconcile.decisions import Create, Delete, Done, Fail, UpdateStatus, Wait
from bot.reconcile.frame import SOON, ControllerContext, Reconciler, create_once, slower
from bot.reconcile.labelled import LabelledObjects
from bot.slack.messages import refresh_interval

push_changes = partial(
    LabelledObjects, kind=PUSH, label=labels.DATASET_PUSH, resources=(JOBS, PVCS, SNAPSHOTS)
)
"""Maps changed Jobs, PVCs and snapshots of pushes to their rows, by our label."""


@dataclass(frozen=True)
class PushRows:
    """A push, and the share through which it reads a PVC or the files that it gets from Slack."""

    push: Push
    share: CacheShare | None
    drop: Drop | None = None


class PushController(Reconciler[PushRows, PushObserved, Decision]):
    """Reconciles pushes; `makers` finds who wrote the pushed files."""

    kind = PUSH
    table, phases = Push, PushPhase

    def __init__(self, context: ControllerContext, makers: Makers) -> None:
        super().__init__(context)
        written = Versions(context.settings, context.format_command, makers)
        self._ways = Ways(written, context.format_command)

    @override
    def load(self, session: Session, row_id: str) -> PushRows | None:
        """The push and its share."""
        push = self.known(session, row_id)
        if push is None:
            return None
        share = session.get_one(CacheShare, push.share_id) if push.share_id else None
        drop = session.get(Drop, push.id) if push.is_drop else None
        return PushRows(push, share, drop)

    @override
    def observe(self, row: PushRows, now: datetime) -> PushObserved:
        """The Job, what its pod has said, and what it reads."""
        return observe(self._cluster(row.push), row.push)

    @override
    def decide(self, row: PushRows, observed: PushObserved, now: datetime) -> Decision:
        """The next step of a push; the failure of its files is its own."""
        if row.drop is not None and row.push.is_live and row.push.stopped_by is None:
            if row.drop.reason:
                return Fail(row.drop.reason, row.drop.unblock, tuple(row.drop.keys))
            # Nothing is created for files that cannot be copied.
            if row.drop.phase == DropPhase.FINDING:
                return Wait()
        return decide(row.push, row.share, observed, now)

    @override
    def act(self, row: PushRows, observed: PushObserved, decision: Decision) -> Decision:
        """Creates or deletes the Job, or what it reads a snapshot through."""
        push, cluster = row.push, self._cluster(row.push)
        match decision:
            case Create():
                claim = row.share.claim_name if row.share is not None else push.job_name
                body = self._job(push, claim, cluster.installation)
                why = bounds.refusal(self._context.settings(), _use_of(push))
                if why is not None:
                    return Fail(why.message, why.hint)
                return _created(cluster, JOBS, body, push.namespace) or decision
            case Make(part):
                body = self._part(cluster, push, observed, part)
                namespace = push.namespace if part.resource.namespaced else None
                return _created(cluster, part.resource, body, namespace) or decision
            case Delete(uid):
                cluster.delete(JOBS, push.job_name, push.namespace, uid=uid)
            case Remove(part, uid):
                namespace = push.namespace if part.resource.namespaced else None
                cluster.delete(part.resource, push.job_name, namespace, uid=uid)
            case _:
                pass
        return decision

    @override
    def record(self, session: Session, row: PushRows, found: PushFindings) -> None:
        """Records the progress of the push, and its end."""
        record(session, row.push.id, found, self._ways)

    @override
    def next_look(self, row: PushRows, found: PushFindings) -> datetime | None:
        """While it copies, as often as its card may change."""
        now = found.now
        match found.decision:
            case UpdateStatus(PushPhase.COPYING):
                return now + self._context.database.read(refresh_interval)
            case UpdateStatus() | AwaitDeletion():
                return slower(row.push.since, now, FIRST_LOOK)
            case Done():
                return None
            case _:
                return now + SOON

    def _cluster(self, push: Push) -> Cluster:
        return self._context.cluster(push.cluster, "its pushes have ended")

    def _part(
        self, cluster: Cluster, push: Push, look: PushObserved, part: RestoredPart
    ) -> Manifest:
        """The manifest of one of the objects through which a snapshot is read."""
        if part is RestoredPart.SNAPSHOT:
            return job.snapshot_of(push, cluster.installation)
        if part is RestoredPart.CONTENT:
            if look.restored is None or look.restored.origin is None:
                raise AssertionError("decided without what the driver made of the snapshot")
            return job.content_of(push, look.restored.origin, cluster.installation)
        at = self._context.settings().clusters.get(push.cluster)
        mode = at.access_modes.get(push.storage_class) if at is not None else None
        found = cluster.list(STORAGE_CLASSES, fields=f"metadata.name={push.storage_class}")
        return job.claim_of(push, next(iter(found), None), mode, cluster.installation)

    def _job(self, push: Push, claim: str, installation: str) -> Manifest:
        settings = self._context.settings()
        used = [push.store, *([push.box_store] if push.is_upload else [])]
        lost = next((each for each in used if each not in settings.stores), None)
        if settings.datasets is None or lost is not None:
            missing = "datasets" if settings.datasets is None else f"stores.{lost}"
            raise StorageError(
                f"{missing} is no longer in quartermaster.yaml.",
                "A platform admin must add it again.",
            )
        datasets = settings.datasets.at(push.cluster)
        if push.is_upload:
            return receive_job(push, datasets, settings.stores, installation)
        return push_job(push, claim, datasets, settings.stores, installation)


def _created(
    cluster: Cluster, resource: Resource[Any], body: Manifest, namespace: str | None
) -> Decision | None:
    """Creates an object. If its name is taken, the next step finds out by what."""
    refusal = create_once(cluster, resource, body, namespace, hopeless={"OverQuota"})
    return Fail(refusal.message, refusal.hint) if refusal is not None else None


def _use_of(push: Push) -> StoreUse:
    return StoreUse(push.team, push.store, push.target, is_writing=True)
