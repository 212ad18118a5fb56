"""Artifacts of runs, and the volumes that hold them."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bot.errors import UsageError
from bot.slack.grammar.container_parameters import Artifact, DataMount, NewVolume, VolumeMount
from bot.training.kinds.pods.volumes import mounts_of
from bot.training.spec import SHM_PATH, RunSpec


class Kept(NamedTuple):
    """An artifact: its path in the containers, its PVC, and its path on that PVC."""

    path: str
    claim: str
    within: str


def refuse_lost(
    artifacts: Sequence[Artifact],
    volumes: Sequence[VolumeMount | NewVolume],
    data: Sequence[DataMount] = (),
) -> None:
    """UsageError when an artifact is not on a volume that the run can write to."""
    mounts: dict[str, VolumeMount | NewVolume | DataMount] = {
        each.path.rstrip("/"): each for each in (*volumes, *data)
    }
    for artifact in artifacts:
        found = mounts.get(_mount(artifact.path, mounts) or "")
        if isinstance(found, DataMount):
            name = artifact.path.rpartition("/")[2]
            raise UsageError(
                f"`--artifact {artifact.path}` is below {found.path.rstrip('/')}, where the run"
                f" reads {found.reference}: nothing can be written there.",
                f"Write it to a PVC, for example `--pvc results:/out --artifact /out/{name}`.",
            )
        if found is None:
            is_memory = _is_below(artifact.path, SHM_PATH)
            gone = "in memory" if is_memory else "not on a PVC of the run"
            folder = "" if is_memory else artifact.path.rpartition("/")[0]
            raise UsageError(
                f"`--artifact {artifact.path}` is {gone}, so it would be lost with its pod.",
                _ways_out(folder or "/out", volumes),
            )
        if isinstance(found, VolumeMount) and found.read_only:
            raise UsageError(
                f"`--artifact {artifact.path}` is on PVC {found.claim}, which the run mounts"
                " read-only.",
                f"Mount it read-write: `--pvc {found.claim}:{found.path}`.",
            )


def artifacts_of(root_name: str, spec: RunSpec) -> tuple[Kept, ...]:
    """The artifacts of a run with this root."""
    mounts = {each.path.rstrip("/"): each for each in mounts_of(root_name, spec)}
    places = ((path, _mount(path, mounts)) for path in spec.artifacts)
    return tuple(
        Kept(path, mounts[place].claim, path[len(place) :].lstrip("/"))
        for path, place in places
        if place is not None
    )


def _mount(path: str, mounts: Iterable[str]) -> str | None:
    """The mount that contains a path: the nearest one above it."""
    return max((each for each in mounts if _is_below(path, each)), key=len, default=None)


def _is_below(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")


def _ways_out(folder: str, volumes: Sequence[VolumeMount | NewVolume]) -> str:
    writable = [
        each.path.rstrip("/")
        for each in volumes
        if isinstance(each, NewVolume) or not each.read_only
    ]
    there = f" Or write it below {' or '.join(writable)}." if writable else ""
    return f"Mount a PVC for it, for example `--pvc claim:{folder}`.{there}"
