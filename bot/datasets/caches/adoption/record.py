"""What the PVC of a cache says of its rows, so that lost ones can be written again."""

from datetime import datetime
from typing import Any

import msgspec
from sqlmodel import Session

from bot.cluster import records
from bot.cluster.records import Count, Name, Text
from bot.cluster.types.objects import ClusterObject
from bot.datasets.caches.tables import Cache
from bot.datasets.tables import Dataset, Version


class DatasetRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A dataset: what cannot be changed of one while it has caches."""

    id: Name
    name: Name
    team: Name
    readers: list[Name]
    is_open: bool
    store: Name
    source: Text
    description: Text
    person: Name
    added_at: datetime


class VersionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A version that is ready, which never changes; `manifest` is its list of objects."""

    id: Name
    name: Name
    note: Text
    team: Name
    person: Name
    channel: Text
    store: Name
    source: Text
    manifest_store: Name
    manifest: Text
    digest: Text
    objects: Count
    size_bytes: Count
    selected_from: Name
    selection: dict[str, Any]
    asked_at: datetime
    ended_at: datetime | None


class CacheRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A cache with its version and its dataset; what it holds may be a `part` of the version."""

    dataset: DatasetRecord
    version: VersionRecord
    reference: Text
    part: Text
    digest: Text
    objects: Count
    size_bytes: Count
    channel: Text
    job_name: Name
    layout: Text


# msgspec looks into a class when it first meets it, and a thread that meets it meanwhile crashes;
# so it meets this one here, while there is one thread.
_DECODER = msgspec.json.Decoder(CacheRecord)


def recorded(session: Session, cache: Cache) -> str:
    """The annotation of a new PVC."""
    version = session.get_one(Version, cache.version_id)
    dataset = session.get_one(Dataset, cache.dataset_id)
    return records.recorded(
        CacheRecord(
            dataset=DatasetRecord(**dataset.model_dump(include=set(_OF_DATASET))),
            version=VersionRecord(**version.model_dump(include=set(_OF_VERSION))),
            reference=cache.reference,
            part=cache.part,
            digest=cache.digest,
            objects=cache.objects,
            size_bytes=cache.size_bytes,
            channel=cache.channel,
            job_name=cache.job_name,
            layout=cache.layout,
        )
    )


def record_of(found: ClusterObject) -> CacheRecord | None:
    """What the annotation says; None if there is none that can be read."""
    said = records.record_of(found, _DECODER)
    if said is None:
        return None
    moments = (said.dataset.added_at, said.version.asked_at, said.version.ended_at)
    is_sound = all(each is None or records.is_moment(each) for each in moments)
    return said if is_sound else None


_OF_DATASET = DatasetRecord.__struct_fields__
_OF_VERSION = VersionRecord.__struct_fields__
