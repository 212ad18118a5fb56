"""Checks the setup of datasets for `quartermaster doctor`."""

from contextlib import closing
from datetime import UTC, datetime
from typing import Literal

from bot.cluster.api.answers import MISSING
from bot.cluster.cluster import Cluster
from bot.cluster.resources import (
    JOBS,
    PVCS,
    SECRETS,
    SNAPSHOT_CONTENTS,
    SNAPSHOTS,
    STORAGE_CLASSES,
    VOLUME_REFERENCES,
    VOLUMES,
)
from bot.cluster.rights import Needed, lacking, spelled
from bot.config import Datasets, FsxFolder, FsxService, Settings, Store
from bot.datasets.fsx.client import Fsx
from bot.datasets.fsx.linking import link_of
from bot.datasets.job import survey_job
from bot.datasets.location import Location
from bot.datasets.object_store import ObjectStore
from bot.datasets.tables import Version
from bot.datasets.worker.stores.registry import TYPES
from bot.errors import ClusterError, StorageError
from bot.findings import Finding, Findings

_RIGHTS = (
    ("create", "batch", "jobs", ""),
    ("delete", "batch", "jobs", ""),
    ("create", "", "persistentvolumeclaims", ""),
    ("delete", "", "persistentvolumeclaims", ""),
    ("get", "", "pods", "log"),
    ("list", "", "events", ""),
)
_APPLY = (
    "Upgrade the Helm release, or apply deploy/kubernetes/17-datasets.yaml to the namespace in"
    " datasets.namespace."
)
_APPLY_PUSHES = (
    "Set rights.snapshotPushes in the Helm chart, or apply deploy/kubernetes/17-datasets.yaml to"
    " the namespace in datasets.namespace."
)
_MANY = "ReadWriteMany"
_APPLY_ALL = (
    "Set rights.sharedVolumes (with Trident also rights.trident) in the Helm chart, or apply"
    " deploy/kubernetes/17-datasets.yaml and 20-teams.yaml."
)
_VOLUME_RIGHTS = (Needed("create", VOLUMES), Needed("delete", VOLUMES))


def checks(settings: Settings, datasets: Datasets, cluster: Cluster) -> Findings:
    """All findings about the datasets of a cluster; ClusterError when it cannot be read.

    `datasets` are the settings for it.
    """
    yield _rights(datasets, cluster)
    yield _namespace(settings, datasets, cluster)
    yield _pushing(settings, datasets, cluster)
    if cluster.served(SNAPSHOTS.group):
        yield _pushing_snapshots(datasets, cluster)
    if datasets.classes:
        yield _sharing(settings, datasets, cluster)
        yield from _classes(settings, datasets, cluster)
        if cluster.served(SNAPSHOTS.group):
            yield _snapshots(cluster)
    for name, store in settings.stores.items():
        if store.places or store.shared or name == datasets.state_store:
            yield _keys(name, store, datasets, cluster)
    if settings.datasets is None or settings.datasets.cluster == cluster.name:
        yield _state(settings, datasets)


def _rights(datasets: Datasets, cluster: Cluster) -> Finding:
    missing = [
        f"{verb} {plural}{'/' + part if part else ''}"
        for verb, group, plural, part in _RIGHTS
        if not cluster.may(verb, group, plural, subresource=part, namespace=datasets.namespace)
    ]
    if missing:
        says = f"missing in {datasets.namespace}: {', '.join(missing)}"
        return Finding("datasets rights", "failed", says, _APPLY)
    return Finding("datasets rights", "ok", f"all {len(_RIGHTS)} rights are granted")


def _snapshots(cluster: Cluster) -> Finding:
    """Whether the bot can list snapshots of caches; otherwise it evicts nothing."""
    if cluster.may("list", SNAPSHOTS.group, SNAPSHOTS.plural):
        return Finding("dataset snapshots", "ok", "the bot can list the snapshots of volumes")
    says = "the bot may not list VolumeSnapshots and evicts no cache without checking them"
    remedy = "Upgrade the Helm release, or apply deploy/kubernetes/10-access.yaml."
    return Finding("dataset snapshots", "failed", says, remedy)


def _sharing(settings: Settings, datasets: Datasets, cluster: Cluster) -> Finding:
    """Whether caches can be shared with runs in other namespaces."""
    needed = [*_VOLUME_RIGHTS, Needed("patch", PVCS, datasets.namespace)]
    if cluster.served(VOLUME_REFERENCES.group):
        for namespace in _namespaces(settings, datasets):
            needed += _references_in(namespace)
    missing = lacking(cluster, needed)
    if missing:
        is_of_trident = all(each.resource is VOLUME_REFERENCES for each in missing)
        where = "on Trident volumes" if is_of_trident else "from team namespaces"
        says = f"runs cannot read caches {where}: missing {spelled(missing)}"
        state: Literal["warning", "failed"] = "warning" if is_of_trident else "failed"
        return Finding("datasets sharing", state, says, _APPLY_ALL)
    return Finding("datasets sharing", "ok", f"all {len(needed)} rights are granted")


def _pushing(settings: Settings, datasets: Datasets, cluster: Cluster) -> Finding:
    """Whether pushes can read the PVCs of teams from their own namespace."""
    needed = [*_VOLUME_RIGHTS]
    if cluster.served(VOLUME_REFERENCES.group):
        needed += _references_in(datasets.namespace)
        needed += [Needed("patch", PVCS, each) for each in _namespaces(settings, datasets)]
    missing = lacking(cluster, needed)
    if missing:
        says = f"team PVCs cannot be pushed: missing {spelled(missing)}"
        return Finding("datasets pushing", "warning", says, _APPLY_ALL)
    return Finding("datasets pushing", "ok", f"all {len(needed)} rights are granted")


def _pushing_snapshots(datasets: Datasets, cluster: Cluster) -> Finding:
    """Whether pushes can read snapshots of team PVCs from their own namespace."""
    needed = [
        *(Needed(verb, SNAPSHOT_CONTENTS) for verb in ("create", "delete", "get", "list")),
        *(Needed(verb, SNAPSHOTS, datasets.namespace) for verb in ("create", "delete", "get")),
    ]
    missing = lacking(cluster, needed)
    if missing:
        says = f"snapshots cannot be pushed: missing {spelled(missing)}"
        return Finding("pushing snapshots", "warning", says, _APPLY_PUSHES)
    return Finding("pushing snapshots", "ok", f"all {len(needed)} rights are granted")


def _namespaces(settings: Settings, datasets: Datasets) -> list[str]:
    """The namespaces of teams in the cluster of datasets."""
    return [each.namespace for each in settings.teams.values() if datasets.cluster in each.reach]


def _references_in(namespace: str) -> list[Needed]:
    """The rights that Trident needs to show a volume in another namespace."""
    return [Needed(verb, VOLUME_REFERENCES, namespace) for verb in ("create", "delete", "get")]


def _namespace(settings: Settings, datasets: Datasets, cluster: Cluster) -> Finding:
    """Whether the namespace admits the Job of a survey, by a dry run."""
    about = "datasets namespace"
    job = survey_job(_sample(datasets), datasets, settings.stores, "doctor")
    try:
        cluster.create(JOBS, job, datasets.namespace, is_trial=True)
    except ClusterError as error:
        if error.reason == MISSING:
            return Finding(
                about, "failed", f"namespace {datasets.namespace} does not exist", _APPLY
            )
        return Finding(about, "failed", error.message, error.hint)
    return Finding(about, "ok", f"namespace {datasets.namespace} admits survey Jobs")


def _classes(settings: Settings, datasets: Datasets, cluster: Cluster) -> Findings:
    """Whether the storage classes for caches exist, and many nodes can mount their volumes."""
    found = {each.name: each for each in cluster.list(STORAGE_CLASSES)}
    told = settings.clusters[datasets.cluster].access_modes
    key = (settings.datasets or datasets).classes_key(datasets.cluster)
    for name, known in datasets.classes.items():
        about, kind = f"cache class {name}", found.get(name)
        if known.fsx is not None and datasets.fsx is not None:
            yield _linked(about, known.fsx, datasets.fsx)
        elif kind is None:
            remedy = f"Create storage class {name}, or remove it from {key}."
            yield Finding(about, "failed", "the cluster has no storage class of that name", remedy)
        elif told.get(name, "ReadWriteOnce" if kind.makes_disks else _MANY) != _MANY:
            says = "only one node at a time can mount its volumes"
            remedy = "Use a class with file storage such as NFS, not disks."
            yield Finding(about, "failed", says, remedy)
        else:
            yield Finding(about, "ok", "many nodes can mount its volumes")


def _linked(about: str, folder: FsxFolder, service: FsxService) -> Finding:
    """Whether FSx links the folder to the configured bucket, without automatic import."""
    try:
        with closing(Fsx(service)) as fsx:
            link = link_of(fsx, folder)
    except StorageError as error:
        return Finding(about, "failed", error.message, error.hint)
    if link is None:
        says = f"file system {folder.file_system} is being created"
        return Finding(about, "warning", says, "Run `quartermaster doctor` again in 10 minutes.")
    says = f"{folder.path} of {folder.file_system} is linked to {folder.repository}"
    return Finding(about, "ok", says)


def _keys(name: str, store: Store, datasets: Datasets, cluster: Cluster) -> Finding:
    """Whether the Secret exists. The bot needs no right to read it, and better has none."""
    about, place = f"store {name}", f"{datasets.namespace}/{store.secret}"
    if store.secret is None:
        return Finding(about, "ok", "no Secret is set: pods use their own identity")
    try:
        found = cluster.get(SECRETS, store.secret, datasets.namespace)
    except ClusterError as error:
        if error.reason != "Forbidden":
            raise
        look = f"kubectl get secret -n {datasets.namespace} {store.secret}"
        return Finding(
            about, "warning", f"the bot may not read Secret {place}", f"Check it: {look}"
        )
    if found is None:
        files = TYPES[store.type].files.removeprefix("the files ")
        remedy = f"Create it with {files}, or set stores.{name}.secret."
        return Finding(about, "failed", f"Secret {place} does not exist", remedy)
    return Finding(about, "ok", f"Secret {place} exists")


def _state(settings: Settings, datasets: Datasets) -> Finding:
    """Whether the bot can read the state bucket, where manifests are kept."""
    store = ObjectStore(datasets.state_store, settings.stores[datasets.state_store])
    try:
        with closing(store):
            store.look(Location.of(datasets.state))
    except StorageError as error:
        return Finding("datasets state", "failed", error.message, error.hint)
    return Finding("datasets state", "ok", f"the bot can read {datasets.state}")


def _sample(datasets: Datasets) -> Version:
    """A version that is not stored, for a dry run of its Job."""
    now = datetime.now(UTC)
    return Version(
        workspace_id="doctor",
        dataset_id="doctor",
        dataset="doctor",
        name="doctor",
        team="doctor",
        person="doctor",
        channel="doctor",
        cluster=datasets.cluster,
        namespace=datasets.namespace,
        job_name="quartermaster-doctor",
        store=datasets.state_store,
        source=datasets.state,
        manifest_store=datasets.state_store,
        manifest=datasets.state,
        asked_at=now,
        since=now,
    )
