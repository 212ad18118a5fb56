"""PVCs and storage classes, reduced to the fields the bot looks at."""

from collections.abc import Mapping

from bot.cluster.objects import ClusterObject, Condition, Part
from bot.cluster.quantities import Quantity


class ClaimResources(Part, frozen=True, kw_only=True):
    """How much storage a claim asks for."""

    requests: Mapping[str, Quantity] = {}


class ClaimSpec(Part, frozen=True, kw_only=True):
    """What a claim asks for."""

    access_modes: tuple[str, ...] = ()
    storage_class_name: str | None = None
    volume_name: str = ""
    resources: ClaimResources = ClaimResources()


class ClaimStatus(Part, frozen=True, kw_only=True):
    """What a claim got."""

    phase: str = ""
    access_modes: tuple[str, ...] = ()
    capacity: Mapping[str, Quantity] = {}
    conditions: tuple[Condition, ...] = ()


class PersistentVolumeClaim(ClusterObject, frozen=True, kw_only=True):
    """A PVC."""

    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()


class StorageClass(ClusterObject, frozen=True, kw_only=True):
    """A storage class: which driver makes volumes, and when."""

    provisioner: str = ""
    parameters: Mapping[str, str] = {}
    volume_binding_mode: str = "Immediate"
