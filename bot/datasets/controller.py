"""Controller of versions: runs a Job that surveys the source and records what it found."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.clock import Clock
from bot.cluster.cluster import Cluster
from bot.cluster.resources import JOBS
from bot.config import Datasets, Settings, Store
from bot.database.database import Database
from bot.datasets import bounds
from bot.datasets.decision import Create, Decision, Delete, Done, Fail, UpdateStatus, Wait, decide
from bot.datasets.job import survey_job
from bot.datasets.observing import observe
from bot.datasets.recording import VersionFindings, record
from bot.datasets.tables import VERSION, Version, VersionPhase
from bot.errors import ClusterError, StorageError
from bot.reconcile.controller import Step, Trouble
from bot.slack.messages import refresh_cards, refresh_interval

SOON = timedelta(seconds=2)
_STARTING, _LONGEST = timedelta(seconds=10), timedelta(minutes=1)
_SHOWN_ATTEMPTS = 2


@dataclass(frozen=True)
class ControllerContext:
    """What the controller works with; `words` formats a command as people type it."""

    database: Database
    clock: Clock
    settings: Callable[[], Settings]
    clusters: Mapping[str, Cluster]
    words: Callable[[str], str]

    def cluster(self, name: str, until: str) -> Cluster:
        """The cluster of that name; ClusterError if it is not configured.

        `until` ends the hint: how long it is needed, such as "its caches are gone".
        """
        found = self.clusters.get(name)
        if found is None:
            raise ClusterError(
                f"Cluster {name} is no longer in quartermaster.yaml.",
                f"A platform admin must add it again and keep it until {until}.",
                reason="Unreachable",
            )
        return found


class VersionController:
    """Reconciles versions with their survey Jobs."""

    kind = VERSION

    def __init__(self, world: ControllerContext) -> None:
        self._world = world

    def step(self, row_id: str) -> Step:
        """Takes the next step for a version; OutsideError if the cluster or a store fails."""
        version = self._world.database.read(lambda session: session.get(Version, row_id))
        if version is None or version.phase not in set(VersionPhase):
            return Step(None)
        if version.is_cleared:
            return Step(None)
        now = self._world.clock.now()
        cluster = self._world.cluster(version.cluster, "its surveys have ended")
        seen = observe(cluster, version)
        decision = self._act(cluster, version, decide(version, seen, now))
        if isinstance(decision, Wait):
            return Step(None)
        found = VersionFindings(decision, seen, now)
        return Step(
            self._again(version, decision, now),
            lambda session: record(session, row_id, found, self._world.words),
        )

    def on_failure(self, session: Session, row_id: str, trouble: Trouble) -> None:
        """Shows the failure on the card, from the second failed attempt on."""
        version = session.get(Version, row_id)
        if version is None or trouble.attempts < _SHOWN_ATTEMPTS:
            return
        if version.trouble != trouble.sentence:
            version.trouble = trouble.sentence
            session.add(version)
            refresh_cards(session, version.subject, live=version.is_live)

    def _act(self, cluster: Cluster, version: Version, decision: Decision) -> Decision:
        """Carries out a decision and returns the decision to record."""
        match decision:
            case Create():
                return self._create(cluster, version)
            case Delete(uid):
                cluster.delete(JOBS, version.job_name, version.namespace, uid=uid)
            case _:
                pass
        return decision

    def _create(self, cluster: Cluster, version: Version) -> Decision:
        """Creates the Job. If its name is taken, the next step finds out by what."""
        settings = self._world.settings()
        datasets, stores = places_of(settings, version)
        why = self._world.database.read(lambda s: bounds.of_version(s, settings, version))
        if why is not None:
            return Fail(why.message, why.hint)
        manifest = survey_job(version, datasets, stores, cluster.installation)
        try:
            cluster.create(JOBS, manifest, version.namespace)
        except ClusterError as error:
            if error.is_final:
                return Fail(error.message, error.hint)
            if error.reason != "AlreadyExists":
                raise
        return Create()

    def _again(self, version: Version, decision: Decision, now: datetime) -> datetime | None:
        """When to take the next step if no event wakes the row earlier."""
        match decision:
            case UpdateStatus(VersionPhase.LISTING):
                return now + self._world.database.read(refresh_interval)
            case UpdateStatus():
                return now + min(max(_STARTING, (now - version.asked_at) / 10), _LONGEST)
            case Done():
                return None
            case _:
                return now + SOON


def places_of(settings: Settings, version: Version) -> tuple[Datasets, Mapping[str, Store]]:
    """The settings that the Jobs of a version need; StorageError if some are missing."""
    missing = [
        f"stores.{name}"
        for name in (version.store, version.manifest_store)
        if name not in settings.stores
    ]
    if settings.datasets is None:
        missing.append("datasets")
    if settings.datasets is None or missing:
        raise StorageError(
            f"quartermaster.yaml no longer has {' and '.join(dict.fromkeys(missing))}.",
            "A platform admin must add it again.",
        )
    return settings.datasets, settings.stores
