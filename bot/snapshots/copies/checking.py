"""Doctor's check of copies: which storage classes make volumes that many pods can mount."""

from bot.cluster.cluster import Cluster
from bot.cluster.resources import STORAGE_CLASSES
from bot.config import ClusterSettings, Settings
from bot.findings import Finding, Findings
from bot.snapshots.copies.classes import sorted_out
from bot.snapshots.copies.service import image_of


def checks(settings: Settings, cluster: Cluster) -> Findings:
    """Findings on the storage classes, if copies are set up; ClusterError if out of reach."""
    if image_of(settings) is None:
        return
    about = f"cluster {cluster.name} copies of PVCs"
    told = settings.clusters.get(cluster.name, ClusterSettings()).access_modes
    modes = {name: str(mode) for name, mode in told.items()}
    found = sorted_out(cluster.list(STORAGE_CLASSES), modes)
    says = found.described.rstrip(".")
    if not found.many:
        none = "no storage class is known to make volumes that many pods can mount"
        yield Finding(about, "warning", f"{none}. {says}".rstrip(". "), _SAY)
    elif found.unknown:
        yield Finding(about, "warning", says, _SAY)
    else:
        yield Finding(about, "ok", says)


_SAY = (
    "Set clusters.NAME.access_modes for the classes that are not known: ReadWriteMany for file"
    " storage such as NFS, ReadWriteOnce for disks."
)
