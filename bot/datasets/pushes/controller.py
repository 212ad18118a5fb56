"""Controller of pushes: mounts the source where the keys are, runs a Job, and cleans up."""

from datetime import datetime, timedelta
from typing import Any

from sqlmodel import Session

from bot.cluster.cluster import Cluster
from bot.cluster.resources import JOBS, STORAGE_CLASSES, Resource
from bot.datasets import bounds
from bot.datasets.bounds import StoreUse
from bot.datasets.caches.tables import CacheShare
from bot.datasets.controller import SOON, ControllerContext
from bot.datasets.job import Manifest
from bot.datasets.push_tables import PUSH, Push, PushPhase
from bot.datasets.pushes import restore_forms
from bot.datasets.pushes.decision import decide
from bot.datasets.pushes.job import push_job
from bot.datasets.pushes.lineage import Makers
from bot.datasets.pushes.observing import observe
from bot.datasets.pushes.recording import PushFindings, Ways, record
from bot.datasets.pushes.restored import RestoredPart
from bot.datasets.pushes.steps import (
    AwaitDeletion,
    Create,
    Decision,
    Delete,
    Done,
    Fail,
    Make,
    PushObserved,
    Remove,
    UpdateStatus,
    Wait,
)
from bot.datasets.pushes.versions import Versions
from bot.errors import ClusterError, StorageError
from bot.reconcile.controller import Step, Trouble
from bot.slack.messages import refresh_cards, refresh_interval

_STARTING, _LONGEST = timedelta(seconds=10), timedelta(minutes=1)
_SHOWN_ATTEMPTS = 2


class PushController:
    """Reconciles pushes; `makers` finds who wrote the pushed files."""

    kind = PUSH

    def __init__(self, world: ControllerContext, makers: Makers) -> None:
        self._world = world
        self._ways = Ways(Versions(world.settings, world.words, makers), world.words)

    def step(self, row_id: str) -> Step:
        """Takes the next step for a push; OutsideError if the cluster or a store fails."""
        rows = self._world.database.read(lambda session: _rows(session, row_id))
        if rows is None or rows[0].is_cleared or rows[0].phase not in set(PushPhase):
            return Step(None)
        push, share = rows
        now = self._world.clock.now()
        cluster = self._world.cluster(push.cluster, "its pushes have ended")
        look = observe(cluster, push)
        claim = share.claim_name if share is not None else push.job_name
        decision = self._act(cluster, push, claim, look, decide(push, share, look, now))
        if isinstance(decision, Wait):
            return Step(None)
        found = PushFindings(decision, look, now)
        return Step(
            self._again(push, decision, now),
            lambda session: record(session, row_id, found, self._ways),
        )

    def on_failure(self, session: Session, row_id: str, trouble: Trouble) -> None:
        """Shows the failure on the card, from the second failed attempt on."""
        push = session.get(Push, row_id)
        if push is None or trouble.attempts < _SHOWN_ATTEMPTS:
            return
        if push.trouble != trouble.sentence:
            push.trouble = trouble.sentence
            session.add(push)
            refresh_cards(session, push.subject, live=push.is_live)

    def _act(
        self, cluster: Cluster, push: Push, claim: str, look: PushObserved, decision: Decision
    ) -> Decision:
        """Carries out a decision and returns the one to record; `claim` is the PVC to read."""
        match decision:
            case Create():
                body = self._job(push, claim, cluster.installation)
                why = bounds.refusal(self._world.settings(), _use_of(push))
                if why is not None:
                    return Fail(why.message, why.hint)
                return _created(cluster, JOBS, body, push.namespace) or decision
            case Make(part):
                body = self._part(cluster, push, look, part)
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

    def _part(
        self, cluster: Cluster, push: Push, look: PushObserved, part: RestoredPart
    ) -> Manifest:
        """The manifest of one of the objects through which a snapshot is read."""
        if part is RestoredPart.SNAPSHOT:
            return restore_forms.snapshot_of(push, cluster.installation)
        if part is RestoredPart.CONTENT:
            if look.restored is None or look.restored.origin is None:
                raise AssertionError("decided without what the driver made of the snapshot")
            return restore_forms.content_of(push, look.restored.origin, cluster.installation)
        at = self._world.settings().clusters.get(push.cluster)
        mode = at.access_modes.get(push.storage_class) if at is not None else None
        found = cluster.list(STORAGE_CLASSES, fields=f"metadata.name={push.storage_class}")
        return restore_forms.claim_of(push, next(iter(found), None), mode, cluster.installation)

    def _job(self, push: Push, claim: str, installation: str) -> Manifest:
        settings = self._world.settings()
        if settings.datasets is None or push.store not in settings.stores:
            missing = "datasets" if settings.datasets is None else f"stores.{push.store}"
            raise StorageError(
                f"{missing} is no longer in quartermaster.yaml.",
                "A platform admin must add it again.",
            )
        return push_job(push, claim, settings.datasets, settings.stores, installation)

    def _again(self, push: Push, decision: Decision, now: datetime) -> datetime | None:
        """When to take the next step if no event wakes the row earlier."""
        match decision:
            case UpdateStatus(PushPhase.COPYING):
                return now + self._world.database.read(refresh_interval)
            case UpdateStatus() | AwaitDeletion():
                return now + min(max(_STARTING, (now - push.since) / 10), _LONGEST)
            case Done():
                return None
            case _:
                return now + SOON


def _created(
    cluster: Cluster, resource: Resource[Any], body: Manifest, namespace: str | None
) -> Decision | None:
    """Creates an object. If its name is taken, the next step finds out by what."""
    try:
        cluster.create(resource, body, namespace)
    except ClusterError as error:
        if error.is_final or error.reason == "OverQuota":
            return Fail(error.message, error.hint)
        if error.reason != "AlreadyExists":
            raise
    return None


def _use_of(push: Push) -> StoreUse:
    return StoreUse(push.team, push.store, push.target, is_writing=True)


def _rows(session: Session, row_id: str) -> tuple[Push, CacheShare | None] | None:
    push = session.get(Push, row_id)
    if push is None:
        return None
    return push, session.get_one(CacheShare, push.share_id) if push.share_id else None
