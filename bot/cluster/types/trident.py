"""Trident's records of its volumes, reduced to the fields the bot reads."""

import msgspec

from bot.cluster.types.objects import ClusterObject, ObjectPart


class VolumeConfig(ObjectPart, frozen=True, kw_only=True):
    """How Trident finds a volume; `share_source_volume` is the one that it only shows again."""

    internal_id: str = msgspec.field(name="internalID", default="")
    internal_name: str = ""
    share_source_volume: str = ""


class TridentVolume(ClusterObject, frozen=True, kw_only=True):
    """Trident's own record of a volume, named as its PV; read when Trident's controller starts."""

    config: VolumeConfig = VolumeConfig()
