"""Makes pushes so: a share of the team's PVC and a Job, followed to the end and cleaned up."""

from datetime import datetime, timedelta

from sqlmodel import Session

from bot.cluster.cluster import Cluster
from bot.cluster.resources import JOBS
from bot.controller import Step, Trouble
from bot.datasets.caches.tables import Share
from bot.datasets.controller import SOON, World
from bot.datasets.job import Manifest
from bot.datasets.push_tables import PUSH, Phase, Push
from bot.datasets.pushes.decision import (
    Cleared,
    Create,
    Decision,
    Delete,
    Fail,
    Follow,
    Linger,
    Rest,
    decide,
)
from bot.datasets.pushes.job import push_job
from bot.datasets.pushes.observing import observe
from bot.datasets.pushes.recording import Findings, Ways, record
from bot.datasets.pushes.versions import Versions
from bot.errors import ClusterError, StorageError
from bot.slack.messages import refresh_cards, refresh_interval

_STARTING, _LONGEST = timedelta(seconds=10), timedelta(minutes=1)
_SHOWN_ATTEMPTS = 2
_REFUSED = {"Invalid", "BadRequest"}


class PushController:
    """Keeps pushes."""

    kind = PUSH

    def __init__(self, world: World) -> None:
        self._world = world
        self._ways = Ways(Versions(world.settings, world.words), world.words)

    def step(self, row_id: str) -> Step:
        """Takes the next step for a push; OutsideError when the world did not let it."""
        rows = self._world.database.read(lambda session: _rows(session, row_id))
        if rows is None or rows[0].is_cleared or rows[0].phase not in set(Phase):
            return Step(None)
        push, share = rows
        now, cluster = self._world.clock.now(), self._cluster(push)
        look = observe(cluster, push)
        decision = self._act(cluster, push, share, decide(push, share, look, now))
        if isinstance(decision, Rest):
            return Step(None)
        found = Findings(decision, look, now)
        return Step(
            self._again(push, decision, now),
            lambda session: record(session, row_id, found, self._ways),
        )

    def troubled(self, session: Session, row_id: str, trouble: Trouble) -> None:
        """Says on the card what cannot be reached or refuses; once is no news."""
        push = session.get(Push, row_id)
        if push is None or trouble.attempts < _SHOWN_ATTEMPTS:
            return
        if push.trouble != trouble.sentence:
            push.trouble = trouble.sentence
            session.add(push)
            refresh_cards(session, push.subject, live=push.is_live)

    def _act(self, cluster: Cluster, push: Push, share: Share, decision: Decision) -> Decision:
        """Takes the step; what is to be recorded once it was taken."""
        match decision:
            case Create():
                return self._create(cluster, push, share)
            case Delete(uid):
                cluster.delete(JOBS, push.job_name, push.namespace, uid=uid)
            case _:
                pass
        return decision

    def _create(self, cluster: Cluster, push: Push, share: Share) -> Decision:
        """Makes the Job. When its name is taken the next look tells by whom."""
        body = self._job(push, share.claim_name, cluster.installation)
        try:
            cluster.create(JOBS, body, push.namespace)
        except ClusterError as error:
            if error.reason in _REFUSED:
                return Fail(error.message, error.hint)
            if error.reason != "AlreadyExists":
                raise
        return Create()

    def _job(self, push: Push, claim: str, installation: str) -> Manifest:
        settings = self._world.settings()
        if settings.datasets is None or push.store not in settings.stores:
            missing = "datasets" if settings.datasets is None else f"stores.{push.store}"
            raise StorageError(
                f"{missing} is not in quartermaster.yaml any more.",
                "A platform admin has to put it back.",
            )
        return push_job(push, claim, settings.datasets, settings.stores, installation)

    def _cluster(self, push: Push) -> Cluster:
        cluster = self._world.clusters.get(push.cluster)
        if cluster is None:
            raise ClusterError(
                f"Cluster {push.cluster} is not in quartermaster.yaml any more.",
                "A platform admin has to put it back until its pushes have ended.",
                reason="Unreachable",
            )
        return cluster

    def _again(self, push: Push, decision: Decision, now: datetime) -> datetime | None:
        """When to look again if nothing wakes the row before."""
        match decision:
            case Follow(Phase.COPYING):
                return now + self._world.database.read(refresh_interval)
            case Follow() | Linger():
                return now + min(max(_STARTING, (now - push.since) / 10), _LONGEST)
            case Cleared():
                return None
            case _:
                return now + SOON


def _rows(session: Session, row_id: str) -> tuple[Push, Share] | None:
    push = session.get(Push, row_id)
    return (push, session.get_one(Share, push.share_id)) if push is not None else None
