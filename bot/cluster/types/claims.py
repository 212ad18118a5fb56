"""PVCs, their volumes and storage classes, reduced to the fields the bot looks at."""

from collections.abc import Mapping

from bot.cluster.types.objects import ClusterObject, Condition, ObjectPart, StatusMessage
from bot.cluster.types.quantities import Quantity


class ClaimResources(ObjectPart, frozen=True, kw_only=True):
    """How much storage a claim asks for."""

    requests: Mapping[str, Quantity] = {}


class DataSource(ObjectPart, frozen=True, kw_only=True):
    """What a claim is to hold from the start; without a namespace it is the claim's own."""

    kind: str = ""
    name: str = ""
    namespace: str = ""


class ClaimSpec(ObjectPart, frozen=True, kw_only=True):
    """What a claim asks for."""

    access_modes: tuple[str, ...] = ()
    storage_class_name: str | None = None
    volume_mode: str = ""
    volume_name: str = ""
    resources: ClaimResources = ClaimResources()
    data_source: DataSource | None = None
    data_source_ref: DataSource | None = None


class ClaimStatus(ObjectPart, frozen=True, kw_only=True):
    """What a claim got."""

    phase: str = ""
    access_modes: tuple[str, ...] = ()
    capacity: Mapping[str, Quantity] = {}
    conditions: tuple[Condition, ...] = ()


class PersistentVolumeClaim(ClusterObject, frozen=True, kw_only=True):
    """A PVC."""

    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()

    @property
    def size_bytes(self) -> int | None:
        """What it has, or what it requests while it has no volume; None if unknown."""
        storage = self.status.capacity.get("storage")
        return int(storage) if storage else self.requested_bytes

    @property
    def requested_bytes(self) -> int | None:
        """What it requests, which is more than its size while it grows; None if unknown."""
        storage = self.spec.resources.requests.get("storage")
        return int(storage) if storage is not None else None


class Requirement(ObjectPart, frozen=True, kw_only=True):
    """What a label of a node has to be."""

    key: str = ""
    operator: str = "In"
    values: tuple[str, ...] = ()

    def fits(self, labels: Mapping[str, str]) -> bool:
        """Whether a node with these labels matches; an unknown operator matches."""
        there = labels.get(self.key)
        match self.operator:
            case "In":
                return there in self.values
            case "NotIn":
                return there not in self.values
            case "Exists":
                return there is not None
            case "DoesNotExist":
                return there is None
            case _:
                return True


class NodeTerm(ObjectPart, frozen=True, kw_only=True):
    """Requirements that one node has to meet together."""

    match_expressions: tuple[Requirement, ...] = ()


class NodeChoice(ObjectPart, frozen=True, kw_only=True):
    """Terms of which a node has to meet one."""

    node_selector_terms: tuple[NodeTerm, ...] = ()


class VolumeAffinity(ObjectPart, frozen=True, kw_only=True):
    """From which nodes a volume can be reached."""

    required: NodeChoice = NodeChoice()


class SecretPlace(ObjectPart, frozen=True, kw_only=True):
    """Which Secret a driver reads."""

    name: str = ""
    namespace: str = ""


class CsiSource(ObjectPart, frozen=True, kw_only=True):
    """How a CSI driver knows a volume."""

    driver: str = ""
    volume_handle: str = ""
    volume_attributes: Mapping[str, str] = {}
    fs_type: str = ""
    node_stage_secret_ref: SecretPlace | None = None
    node_publish_secret_ref: SecretPlace | None = None


class NfsSource(ObjectPart, frozen=True, kw_only=True):
    """An exported folder that the kubelet itself mounts."""

    server: str = ""
    path: str = ""


class ClaimReference(ObjectPart, frozen=True, kw_only=True):
    """Which PVC a volume is bound to."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class VolumeSpec(ObjectPart, frozen=True, kw_only=True):
    """What a volume is; without an affinity it can be reached from everywhere."""

    capacity: Mapping[str, Quantity] = {}
    access_modes: tuple[str, ...] = ()
    storage_class_name: str = ""
    mount_options: tuple[str, ...] = ()
    persistent_volume_reclaim_policy: str = ""
    csi: CsiSource | None = None
    nfs: NfsSource | None = None
    claim_ref: ClaimReference | None = None
    node_affinity: VolumeAffinity = VolumeAffinity()


class VolumeStatus(StatusMessage, frozen=True, kw_only=True):
    """How far a volume is."""

    phase: str = ""


class PersistentVolume(ClusterObject, frozen=True, kw_only=True):
    """The volume behind a PVC."""

    spec: VolumeSpec = VolumeSpec()
    status: VolumeStatus = VolumeStatus()


class TopologyTerm(ObjectPart, frozen=True, kw_only=True):
    """Where a class makes volumes, as requirements that hold together."""

    match_label_expressions: tuple[Requirement, ...] = ()


# Drivers whose volumes are disks, and so of one node at a time.
_DISKS = frozenset(
    {
        "disk.csi.azure.com",
        "ebs.csi.aws.com",
        "k8s.io/minikube-hostpath",
        "kubernetes.io/aws-ebs",
        "kubernetes.io/azure-disk",
        "kubernetes.io/gce-pd",
        "kubernetes.io/no-provisioner",
        "local.csi.openebs.io",
        "openebs.io/local",
        "pd.csi.storage.gke.io",
        "rancher.io/local-path",
        "topolvm.io",
    }
)
# Drivers whose volumes are on file servers, and so of any number of nodes at a time.
_FILES = frozenset(
    {
        "azurelustre.csi.azure.com",
        "beegfs.csi.netapp.com",
        "csi-isilon.dellemc.com",
        "csi.juicefs.com",
        "csi.vastdata.com",
        "csi.weka.io",
        "efs.csi.aws.com",
        "file.csi.azure.com",
        "filestore.csi.storage.gke.io",
        "fsx.csi.aws.com",
        "fsx.openzfs.csi.aws.com",
        "lustre.csi.storage.gke.io",
        "nfs.csi.k8s.io",
        "spectrumscale.csi.ibm.com",
    }
)
_CEPH_FILES = ("cephfs.csi.ceph.com", "nfs.csi.ceph.com")
TRIDENT = "csi.trident.netapp.io"


class StorageClass(ClusterObject, frozen=True, kw_only=True):
    """A storage class: which driver makes volumes, and when."""

    provisioner: str = ""
    reclaim_policy: str = ""
    parameters: Mapping[str, str] = {}
    volume_binding_mode: str = "Immediate"
    allow_volume_expansion: bool = False
    allowed_topologies: tuple[TopologyTerm, ...] = ()

    @property
    def makes_disks(self) -> bool:
        """Whether its volumes attach to one node at a time, as far as the driver is known."""
        if self.provisioner == TRIDENT:
            return "-san" in self.parameters.get("backendType", "")
        return self.provisioner in _DISKS or self.provisioner.endswith("rbd.csi.ceph.com")

    @property
    def makes_shares(self) -> bool:
        """Whether many nodes can mount its volumes at a time, as far as the driver is known."""
        if self.provisioner == TRIDENT:
            return bool(self.parameters.get("backendType")) and not self.makes_disks
        return self.provisioner in _FILES or self.provisioner.endswith(_CEPH_FILES)


class VolumeReference(ClusterObject, frozen=True, kw_only=True):
    """Trident's leave for the PVCs of a namespace to be on the volume of one in another."""
