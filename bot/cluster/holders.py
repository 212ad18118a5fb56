"""Pods of others, reduced to what they hold of a node, and the PVCs that they mount."""

from decimal import Decimal

from bot.cluster import labels
from bot.cluster.types.objects import (
    ClusterObject,
    ObjectPart,
    PodMeta,
    PodSpec,
    PodVolume,
    mounted_claims,
)


class HolderSpec(PodSpec, frozen=True, kw_only=True):
    """What it requests and mounts, and where it is."""

    node_name: str = ""
    volumes: tuple[PodVolume, ...] = ()

    @property
    def claims(self) -> frozenset[str]:
        """The PVCs that it mounts."""
        return mounted_claims(self.volumes)


class HolderStatus(ObjectPart, frozen=True, kw_only=True):
    """How far it is."""

    phase: str = ""


class Holder(ClusterObject, frozen=True, kw_only=True):
    """A pod that no run of a Quartermaster has."""

    metadata: PodMeta = PodMeta()
    spec: HolderSpec = HolderSpec()
    status: HolderStatus = HolderStatus()

    @property
    def fraction(self) -> Decimal | None:
        """The part of a GPU that KAI gives it, None where it does not share one."""
        said = self.metadata.annotations.get(labels.GPU_FRACTION, "")
        return Decimal(said) if said.replace(".", "", 1).isdecimal() else None
