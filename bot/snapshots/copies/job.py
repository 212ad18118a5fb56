"""The objects of a copy: the new PVC, the Job, and the snapshot and PVC that it may read."""

from bot.cluster import labels
from bot.cluster.resources import SNAPSHOT as GROUP
from bot.cluster.types.containers import unexpanded, without_gpus
from bot.config.sections.pvcs import PvcCopies
from bot.datasets.job import CONTAINER, Manifest, worker_job
from bot.snapshots.classes import READ_WRITE_MANY
from bot.snapshots.copies.tables import Copy, CopySource

SOURCE, TARGET = "/source", "/target"
# The least time, and three times what the whole volume takes at 20 MB/s.
_LEAST_SECONDS, _USUAL_BYTES_PER_SECOND = 12 * 3600, 20_000_000
# What root needs to read and keep files of other users; the baseline of Pod Security allows them.
_CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID")
_CPUS = "2"


def longest_seconds(row: Copy) -> int:
    """The deadline of the Job."""
    return _LEAST_SECONDS + 3 * row.source_bytes // _USUAL_BYTES_PER_SECOND


def target_of(row: Copy, installation: str) -> Manifest:
    """The new PVC, which belongs to the team."""
    metadata = metadata_of(row, row.target, installation)
    return {"metadata": metadata, "spec": _claim_spec(READ_WRITE_MANY, row.storage_class,
                                                      row.size_bytes)}  # fmt: skip


def snapshot_of(row: Copy, installation: str) -> Manifest:
    """The snapshot that is copied."""
    return {
        "metadata": _passing(row, installation),
        "spec": {
            "volumeSnapshotClassName": row.snapshot_class,
            "source": {"persistentVolumeClaimName": row.claim_name},
        },
    }


def restored_of(row: Copy, least_bytes: int, installation: str) -> Manifest:
    """The PVC from the snapshot, which only the Job mounts."""
    source = {"apiGroup": GROUP, "kind": "VolumeSnapshot", "name": row.job_name}
    # The PVC may have grown since the request, and drivers refuse less than the snapshot needs.
    size = max(row.source_bytes, least_bytes)
    spec = _claim_spec(row.access_mode, row.source_class, size)
    return {"metadata": _passing(row, installation), "spec": {**spec, "dataSourceRef": source}}


def copy_job(row: Copy, image: str, settings: PvcCopies, node: str, installation: str) -> Manifest:
    """The Job that copies; on that node, if the PVC is mounted there."""
    reads = row.job_name if row.reads == CopySource.SNAPSHOT else row.claim_name
    claims = {"source": {"claimName": reads, "readOnly": True}, "target": {"claimName": row.target}}
    pod: Manifest = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        # Only root can read everybody's files, and give the copies to the same people.
        "securityContext": {
            "runAsUser": 0,
            "runAsGroup": 0,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(image, is_live=row.reads == CopySource.LIVE)],
        "volumes": [
            *({"name": name, "persistentVolumeClaim": claim} for name, claim in claims.items()),
            {"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}},
        ],
    }
    if settings.pull_secrets:
        pod["imagePullSecrets"] = [{"name": name} for name in settings.pull_secrets]
    if node:
        pod |= _on(node)
    return worker_job(metadata_of(row, row.job_name, installation), pod, longest_seconds(row))


def metadata_of(row: Copy, name: str, installation: str) -> Manifest:
    """The metadata of an object of a copy."""
    ours = {
        labels.MANAGED_BY: labels.MANAGER,
        labels.INSTALLATION: installation,
        labels.PVC_COPY: row.id,
        labels.TEAM: row.team,
        labels.PERSON: row.person,
    }
    return {"name": name, "namespace": row.namespace, "labels": ours}


def _passing(row: Copy, installation: str) -> Manifest:
    """The metadata of what is deleted at the end; without a team, it is no PVC of the team."""
    found = metadata_of(row, row.job_name, installation)
    del found["labels"][labels.TEAM]
    return found


def _claim_spec(mode: str, storage_class: str, size_bytes: int) -> Manifest:
    return {
        "accessModes": [mode],
        "storageClassName": storage_class,
        "resources": {"requests": {"storage": str(size_bytes)}},
    }


def _container(image: str, *, is_live: bool) -> Manifest:
    words = ["copy", "--source", SOURCE, "--target", TARGET, *(["--live"] if is_live else [])]
    return {
        "name": CONTAINER,
        "image": image,
        "args": list(map(unexpanded, words)),
        "env": [without_gpus()],
        "resources": {
            "requests": {"cpu": "500m", "memory": "512Mi"},
            "limits": {"cpu": _CPUS, "memory": "2Gi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"], "add": list(_CAPABILITIES)},
        },
        "volumeMounts": [
            {"name": "source", "mountPath": SOURCE, "readOnly": True},
            {"name": "target", "mountPath": TARGET},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - a volume of the pod's own
        ],
    }


def _on(node: str) -> Manifest:
    """Puts a pod on a node whose pods mount the PVC, whatever keeps other pods off that node."""
    named = {"key": "metadata.name", "operator": "In", "values": [node]}
    terms = {"nodeSelectorTerms": [{"matchFields": [named]}]}
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}},
        "tolerations": [{"operator": "Exists", "effect": "NoSchedule"}],
    }
