"""The PVCs of a run: those it names, and those created for it, which are kept."""

from functools import partial

from bot.cluster.resources import PVCS
from bot.slack.grammar.container_parameters import VolumeMount
from bot.training.kinds.kind import Dependent, Manifest
from bot.training.spec import CreatedVolume, RunSpec, spec_of
from bot.training.tables import Run


def claim_name(root_name: str, number: int) -> str:
    """The name of a PVC created for the run with this root."""
    return f"pvc-{root_name}-{number}"


def root_of(claim: str) -> str:
    """The root of the run for which a PVC of this name was created, if any."""
    return claim.removeprefix("pvc-").rpartition("-")[0]


def mounts_of(root_name: str, spec: RunSpec) -> tuple[VolumeMount, ...]:
    """Every PVC of a run and its path in the containers."""
    made = (
        VolumeMount(claim_name(root_name, number), volume.path, read_only=False)
        for number, volume in enumerate(spec.volumes)
    )
    return (*spec.mounts, *made)


def volume_dependents(run: Run) -> tuple[Dependent, ...]:
    """The PVCs that are created for a run."""
    return tuple(
        Dependent(
            PVCS, claim_name(run.job_name, number), partial(_body, each), is_first=True, stays=True
        )
        for number, each in enumerate(spec_of(run).volumes)
    )


def _body(volume: CreatedVolume) -> Manifest:
    return {
        "spec": {
            "accessModes": [volume.access_mode],
            "storageClassName": volume.storage_class,
            "resources": {"requests": {"storage": volume.size}},
        }
    }
