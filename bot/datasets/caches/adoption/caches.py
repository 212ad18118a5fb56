"""Writes rows for the caches of ours that live in a cluster, their versions and datasets."""

from dataclasses import dataclass
from datetime import datetime

import msgspec
from sqlmodel import Session, and_, col, or_, select

from bot.adoption import LEAVING, Adoptable, Known, Refused, Verdict, channel_of
from bot.audit import Actor, record
from bot.cluster import labels
from bot.cluster.types.claims import PersistentVolumeClaim
from bot.config import Settings
from bot.datasets import bounds, finding
from bot.datasets.bounds import StoreUse
from bot.datasets.caches import fills
from bot.datasets.caches import finding as caching
from bot.datasets.caches.adoption.record import CacheRecord, record_of
from bot.datasets.caches.tables import CACHE, Cache
from bot.datasets.tables import DATASET, Dataset, Version, VersionPhase
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane

_UNREADABLE = (
    f"It has no annotation {labels.RECORD} that this version can read: an earlier release created"
    " it, or FSx imports it. Nothing deletes it; once the dataset is cached again, `/qm leftovers"
    " --platform` offers to."
)


@dataclass(frozen=True)
class FoundCache:
    """A PVC that says to be that of a cache of ours."""

    cluster: str
    object: PersistentVolumeClaim

    @property
    def named(self) -> str:
        """The object, for people: `PVC datasets/chest-xray-124a67dc90 on default`."""
        return f"PVC {self.object.namespace}/{self.object.name} on {self.cluster}"

    @property
    def dataset_id(self) -> str:
        """The id of its dataset, empty if unknown."""
        said = record_of(self.object)
        return said.dataset.id if said is not None else ""


def examine(session: Session, settings: Settings, found: FoundCache) -> Verdict:
    """Whether rows can be written for a PVC; nothing is written."""
    at = found.object
    if session.get(Cache, at.labels[labels.DATASET_CACHE]) is not None:
        return Known()
    if at.metadata.deletion_timestamp is not None:
        return Refused(LEAVING)
    if why := _misplaced(settings, found):
        return Refused(why)
    said = record_of(at)
    if said is None:
        return Refused(_UNREADABLE)
    if why := _unfit(session, settings, found, said):
        return Refused(why)
    title = f"{said.reference} of {said.dataset.team}: {found.named}"
    return Adoptable(title, lambda session, now: _adopt(session, settings, found, said, now))


def _misplaced(settings: Settings, found: FoundCache) -> str:
    """Why a PVC is no cache of this bot; only the bot creates PVCs in the namespace of datasets."""
    datasets = settings.datasets
    if datasets is None or found.cluster not in datasets.everywhere:
        return f"datasets is not set up for cluster {found.cluster} in quartermaster.yaml."
    namespace = datasets.at(found.cluster).namespace
    return "" if found.object.namespace == namespace else f"Caches are in namespace {namespace}."


def _unfit(session: Session, settings: Settings, found: FoundCache, said: CacheRecord) -> str:
    """Why the rows cannot be written; empty if they can."""
    version = said.version
    teams = (found.object.labels.get(labels.TEAM, ""), said.dataset.team, version.team)
    if why := next(filter(None, (_lacking(settings, each) for each in teams)), ""):
        return why
    use = StoreUse(version.team, version.store, version.source)
    refusal = bounds.reading_refusal(session, settings, use, said.dataset.id)
    if refusal is not None:
        return f"{refusal.message} {refusal.hint}"
    return _taken(session, found, said)


def _lacking(settings: Settings, team: str) -> str:
    if team not in settings.teams:
        return (
            f"quartermaster.yaml has no team {team or 'of that name'}. Add the team, and run"
            " this command again."
        )
    has_channel = bool(settings.teams[team].channels)
    return "" if has_channel else f"{team} has no channel. Add one, and run this command again."


def _taken(session: Session, found: FoundCache, said: CacheRecord) -> str:
    """Which row is in the way of a new one; empty if none is."""
    dataset, version = said.dataset, said.version
    other, known = finding.present(session, dataset.name), session.get(Dataset, dataset.id)
    if other is not None and other.id != dataset.id:
        return f"{other.team} has another dataset {dataset.name}."
    if known is not None and known.removed_at is not None:
        return f"Dataset {dataset.name} was removed."
    if _has_other_version(session, said):
        return f"{dataset.name} has another version of that name or content."
    storage_class = found.object.spec.storage_class_name or ""
    place = (found.cluster, storage_class, said.part)
    there = caching.anywhere(session, version.id)
    if any((each.cluster, each.storage_class, each.part) == place for each in there):
        return f"{said.reference} has another cache on {storage_class}."
    return ""


def _has_other_version(session: Session, said: CacheRecord) -> bool:
    version, taken = said.version, col(Version.name) == said.version.name
    if not version.selected_from:
        # A selection may have all files of a whole version.
        is_whole = col(Version.selected_from) == ""
        taken = or_(taken, and_(is_whole, col(Version.digest) == version.digest))
    other = select(Version).where(
        col(Version.dataset_id) == said.dataset.id,
        col(Version.phase) == VersionPhase.READY,
        col(Version.id) != version.id,
        taken,
    )
    known = session.get(Version, version.id)
    is_not_ready = known is not None and known.phase != VersionPhase.READY
    return is_not_ready or session.exec(other).first() is not None


def _adopt(
    session: Session, settings: Settings, found: FoundCache, said: CacheRecord, now: datetime
) -> None:
    """Writes what is missing of dataset, version and cache, whose controller looks at its files."""
    if session.get(Dataset, said.dataset.id) is None:
        dataset = _dataset(settings, said)
        session.add(dataset)
        session.flush()
        facts = {"name": dataset.name, "store": dataset.store, "source": dataset.source}
        actor = Actor(dataset.workspace_id, team=dataset.team)
        record(session, actor, "dataset.adopt", (DATASET, dataset.id), facts, at=now)
    if session.get(Version, said.version.id) is None:
        session.add(_version(settings, found, said))
        session.flush()
    cache = _cache(settings, found, said, now)
    session.add(cache)
    session.flush()
    fills.begins(session, cache)
    actor, facts = Actor(cache.workspace_id, team=cache.team), {"name": cache.reference}
    record(session, actor, "dataset.adopt_cache", (CACHE, cache.id), facts, at=now)
    wake(session, CACHE, cache.id, cluster_lane(cache.cluster), now)


def _dataset(settings: Settings, said: CacheRecord) -> Dataset:
    return Dataset(workspace_id=settings.workspace, **msgspec.structs.asdict(said.dataset))


def _version(settings: Settings, found: FoundCache, said: CacheRecord) -> Version:
    told = msgspec.structs.asdict(said.version)
    ended_at = said.version.ended_at or said.version.asked_at
    return Version(
        **told | {"ended_at": ended_at},
        workspace_id=settings.workspace,
        dataset_id=said.dataset.id,
        dataset=said.dataset.name,
        cluster=found.cluster,
        namespace=found.object.namespace,
        job_name=said.job_name,
        phase=VersionPhase.READY,
        since=ended_at,
        objects_seen=said.version.objects,
        bytes_seen=said.version.size_bytes,
        is_cleared=True,
    )


def _cache(settings: Settings, found: FoundCache, said: CacheRecord, now: datetime) -> Cache:
    """The cache, as if it had just been requested.

    Whether all files are there is in no object, so that the Job which fills it finds out; it copies
    what is missing. It does not expire, since nobody knows when it was last used.
    """
    at, version, datasets = found.object, said.version, settings.datasets
    team = at.labels[labels.TEAM]
    return Cache(
        id=at.labels[labels.DATASET_CACHE],
        workspace_id=settings.workspace,
        version_id=version.id,
        dataset_id=said.dataset.id,
        reference=said.reference,
        part=said.part,
        digest=said.digest,
        objects=said.objects,
        size_bytes=said.size_bytes,
        team=team,
        person=at.labels.get(labels.PERSON, ""),
        channel=channel_of(settings.teams[team], said.channel),
        cluster=found.cluster,
        namespace=at.namespace,
        storage_class=at.spec.storage_class_name or "",
        capacity_bytes=at.requested_bytes or 0,
        claim_name=at.name,
        job_name=said.job_name,
        layout=said.layout,
        named_cluster=datasets.named(found.cluster) if datasets is not None else "",
        asked_at=now,
        keep_seconds=None,
        used_at=now,
        since=now,
        claim_uid=at.uid,
        volume_name=at.spec.volume_name,
    )
