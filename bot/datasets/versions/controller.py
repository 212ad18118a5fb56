"""Controller of versions: runs a Job that surveys the source and records what it found."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial

from sqlmodel import Session
from typing_extensions import override

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import JOBS
from bot.config import Datasets, Settings, Store
from bot.datasets import bounds, finding
from bot.datasets.job import Manifest, select_job, survey_job, sweep_job
from bot.datasets.tables import VERSION, Version, VersionPhase
from bot.datasets.versions.decide import Decision, SurveyObserved, decide
from bot.datasets.versions.observe import observe
from bot.datasets.versions.record import VersionFindings, record
from bot.errors import StorageError
from bot.reconcile.decisions import Create, Delete, Done, Fail, UpdateStatus
from bot.reconcile.frame import SOON, Reconciler, create_once, slower
from bot.reconcile.labelled import LabelledObjects
from bot.slack.messages import refresh_interval

FIRST_LOOK = timedelta(seconds=10)
"""How long after its creation a Job is looked at first, if no watch reports it."""


survey_changes = partial(
    LabelledObjects, kind=VERSION, label=labels.DATASET_VERSION, resources=(JOBS,)
)
"""Maps changed Jobs of surveys to their versions, by our label."""


class VersionController(Reconciler[Version, SurveyObserved, Decision]):
    """Reconciles versions with their survey Jobs."""

    kind = VERSION
    table, phases = Version, VersionPhase

    @override
    def observe(self, row: Version, now: datetime) -> SurveyObserved:
        """The Job of its survey, and what its pod has said."""
        return observe(self._cluster(row), row)

    @override
    def decide(self, row: Version, observed: SurveyObserved, now: datetime) -> Decision:
        """The next step of a survey."""
        return decide(row, observed, now)

    @override
    def act(self, row: Version, observed: SurveyObserved, decision: Decision) -> Decision:
        """Creates or deletes the Job."""
        match decision:
            case Create():
                return self._create(self._cluster(row), row)
            case Delete(uid):
                self._cluster(row).delete(JOBS, row.job_name, row.namespace, uid=uid)
            case _:
                pass
        return decision

    @override
    def record(self, session: Session, row: Version, found: VersionFindings) -> None:
        """Records the state of the survey, and its result."""
        record(session, row.id, found, self._context.format_command)

    @override
    def next_look(self, row: Version, found: VersionFindings) -> datetime | None:
        """While it lists, as often as its card may change."""
        now = found.now
        match found.decision:
            case UpdateStatus(VersionPhase.LISTING | VersionPhase.COPYING):
                return now + self._context.database.read(refresh_interval)
            case UpdateStatus():
                return slower(row.asked_at, now, FIRST_LOOK)
            case Done():
                return None
            case _:
                return now + SOON

    def _cluster(self, version: Version) -> Cluster:
        return self._context.cluster(version.cluster, "its surveys have ended")

    def _create(self, cluster: Cluster, version: Version) -> Decision:
        """Creates the Job. If its name is taken, the next step finds out by what."""
        settings = self._context.settings()
        datasets, stores = places_of(settings, version)
        datasets = datasets.at(version.cluster)
        if version.is_sweep:
            kept = self._context.database.read(lambda session: finding.keeping(session, version))
            manifest = sweep_job(version, kept, datasets, stores, cluster.installation)
            return _created(cluster, manifest, version)
        why = self._context.database.read(lambda s: bounds.of_version(s, settings, version))
        if why is not None:
            return Fail(why.message, why.hint)
        of = self._context.database.read(lambda s: s.get(Version, version.selected_from))
        if of is not None:
            manifest = select_job(version, of, datasets, stores, cluster.installation)
        else:
            manifest = survey_job(version, datasets, stores, cluster.installation)
        return _created(cluster, manifest, version)


def _created(cluster: Cluster, manifest: Manifest, version: Version) -> Decision:
    refusal = create_once(cluster, JOBS, manifest, version.namespace)
    return Fail(refusal.message, refusal.hint) if refusal is not None else Create()


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
