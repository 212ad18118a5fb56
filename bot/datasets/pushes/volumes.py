"""Whether a team's PVC can be read from the namespace of datasets, by what the watches show."""

from typing import NamedTuple

from bot.cluster import labels
from bot.cluster.claims import PersistentVolumeClaim
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PVCS, VOLUMES
from bot.config import Datasets
from bot.datasets.caches.share_forms import Unshareable, form_of
from bot.errors import ConflictError, NotFoundError
from bot.slack.reading import closest

_FOR_MANY_NODES = {"ReadWriteMany", "ReadOnlyMany"}


class Volume(NamedTuple):
    """A team's PVC; `capacity_bytes` is how much fits on it."""

    uid: str
    storage_class: str
    capacity_bytes: int


def found(cluster: Cluster, datasets: Datasets, namespace: str, name: str) -> Volume:
    """A team's PVC; UserError says why it cannot be pushed from."""
    claim = cluster.view.get(PVCS, name, namespace)
    if claim is None or claim.metadata.deletion_timestamp is not None:
        near = closest(name, [each.name for each in cluster.view.all(PVCS, namespace)])
        hint = f"Did you mean {near}?" if near else f"Look: kubectl get pvc -n {namespace}"
        raise NotFoundError(f"There is no PVC {name} in namespace {namespace}.", hint)
    if {labels.DATASET_SHARE, labels.DATASET_CACHE} & claim.labels.keys():
        raise ConflictError(
            f"PVC {name} shows the cache of a dataset, which is in an object store already.",
            "Copy within the store, or name a PVC that your runs wrote to.",
        )
    _refuse_unseen(cluster, datasets, claim)
    size = claim.status.capacity.get("storage") or claim.spec.resources.requests.get("storage")
    return Volume(claim.uid, claim.spec.storage_class_name or "", int(size or 0))


def _refuse_unseen(cluster: Cluster, datasets: Datasets, claim: PersistentVolumeClaim) -> None:
    """ConflictError where no other namespace can mount it."""
    volume = cluster.view.get(VOLUMES, claim.spec.volume_name)
    if claim.status.phase != "Bound" or volume is None:
        raise ConflictError(
            f"PVC {claim.name} has no volume yet, so there is nothing to push.",
            "Most get theirs when the first run mounts them.",
        )
    if not _FOR_MANY_NODES & {*claim.spec.access_modes}:
        modes = ", ".join(claim.spec.access_modes) or "none"
        raise ConflictError(
            f"PVC {claim.name} is for one node at a time (access modes: {modes}), and the stores'"
            f" keys are in namespace {datasets.namespace}, where it would have to be mounted too.",
            _COPY,
        )
    form = form_of(volume, datasets.static_drivers)
    if isinstance(form, Unshareable):
        raise ConflictError(
            f"PVC {claim.name} cannot be read from namespace {datasets.namespace}, where the"
            f" stores' keys are. {form.reason}",
            _COPY,
        )


_COPY = (
    "Copy the folder to a PVC for many nodes first, of Trident or of a driver in"
    " datasets.static_drivers."
)
