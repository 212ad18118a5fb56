"""Converts what the SDK returns to the bot's own types."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bot.volumes.resources import AnfVolume, Pool, PoolPlace, VolumePlace

if TYPE_CHECKING:
    from azure.mgmt.netapp.models import CapacityPool
    from azure.mgmt.netapp.models import Volume as SdkVolume

_GROUP = 4  # /subscriptions/S/resourceGroups/GROUP/...


def pool_of(told: "CapacityPool") -> Pool:
    """A pool from the SDK's model."""
    has = told.properties
    account, name = str(told.name).split("/")[:2]
    return Pool(
        id=str(told.id),
        place=PoolPlace(_group(told.id), account, name),
        level=_word(has.service_level),
        qos=_word(has.qos_type) or "Auto",
        size_bytes=int(has.size),
        throughput_mibps=has.total_throughput_mibps,
        used_throughput_mibps=has.utilized_throughput_mibps,
        state=has.provisioning_state or "",
        encryption=_word(has.encryption_type),
    )


def volume_of(told: "SdkVolume") -> AnfVolume:
    """A volume from the SDK's model; only some versions of the service report its usage."""
    has = told.properties
    account, pool, name = str(told.name).split("/")[:3]
    used = has.get("usedBytes")
    return AnfVolume(
        id=str(told.id),
        place=VolumePlace(_group(told.id), account, pool, name),
        path=has.creation_token,
        file_system=has.file_system_id or "",
        level=_word(has.service_level),
        quota_bytes=int(has.usage_threshold),
        throughput_mibps=has.throughput_mibps or has.actual_throughput_mibps,
        used_bytes=None if used is None else int(used),
        state=has.provisioning_state or "",
        addresses=tuple(each.ip_address for each in has.mount_targets or () if each.ip_address),
        maker=_maker(told.tags or {}),
    )


def _group(resource_id: str | None) -> str:
    return str(resource_id).split("/")[_GROUP]


def _word(told: Any) -> str:
    """The value of an enumeration, which may be newer than the SDK."""
    return str(getattr(told, "value", told) or "")


def _maker(tags: Mapping[str, str]) -> str:
    """The backend of the Trident that created a volume, from the tags that Trident sets."""
    try:
        told = json.loads(tags.get("trident", ""))["trident"]["backendUUID"]
    except (KeyError, TypeError, ValueError):
        return ""
    return told if isinstance(told, str) else ""
