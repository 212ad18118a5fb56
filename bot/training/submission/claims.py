"""Checks that a run can mount its PVCs."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.ownership import Foreign, cache_alias, foreign_claim
from bot.cluster.resources import NODES, PODS, PVCS, STORAGE_CLASSES, VOLUMES
from bot.cluster.types.claims import PersistentVolume, PersistentVolumeClaim
from bot.cluster.types.objects import Pod
from bot.errors import ConflictError, NotAllowedError, NotFoundError, UsageError
from bot.masking import without_mentions
from bot.slack.grammar.container_parameters import VolumeMount
from bot.training.kinds.kind import Site
from bot.training.kinds.pods.volumes import mounts_of
from bot.training.spec import READ_WRITE_MANY, READ_WRITE_ONCE, CreatedVolume, RunSpec, spec_of
from bot.training.state import has_ended
from bot.training.tables import Run

_MANY = {READ_WRITE_MANY, "ReadOnlyMany"}
_SHOWN_NAMES = 10


def settled(spec: RunSpec, site: Site) -> RunSpec:
    """The spec with the widest access mode that the class of each new volume supports.

    Raises:
        UsageError: the cluster has no such storage class.
        NotFoundError: the namespace has no such PVC.
        ConflictError: a PVC that one node can mount is needed on several.

    Objects that the view has not read yet do not cause a refusal.
    """
    volumes = tuple(_settled(volume, site) for volume in spec.volumes)
    spec = msgspec.structs.replace(spec, volumes=volumes)
    there = tuple(each for each in spec.mounts if not _is_to_come(each, spec, site))
    _refuse_spread(spec, there, site)
    for mount in there:
        claim = _claim(mount, site)
        if claim is not None:
            _refuse_foreign(claim, site)
            _refuse_elsewhere(claim, site)
    return spec


def refuse_unmountable(cluster: Cluster, run: Run) -> None:
    """UserError when a PVC of the run does not exist or is not its team's, by live reads.

    The rows and the watches may lag behind; the pods would mount any PVC with that name.
    """
    for name in dict.fromkeys(mount.claim for mount in spec_of(run).mounts):
        claim = cluster.get(PVCS, name, run.namespace)
        if claim is None:
            raise _missing(name, run.namespace, ())
        if claim.metadata.deletion_timestamp is not None:
            raise _leaving(name)
        foreign = foreign_claim(claim, run.team) or cache_alias(
            claim, _volume(cluster, claim), cluster.view
        )
        if foreign is not None:
            raise _refusal(foreign)


def reused(spec: RunSpec, root_name: str, site: Site) -> RunSpec:
    """The spec of a resubmitted run, with the existing volumes that were created for it."""
    made = mounts_of(root_name, spec)[len(spec.mounts) :]
    is_there = [site.view.get(PVCS, each.claim, site.team.namespace) is not None for each in made]
    if not any(is_there):
        return spec
    pairs = list(zip(spec.volumes, made, is_there, strict=True))
    return msgspec.structs.replace(
        spec,
        mounts=(*spec.mounts, *(mount for _, mount, there in pairs if there)),
        volumes=tuple(volume for volume, _, there in pairs if not there),
    )


def _settled(volume: CreatedVolume, site: Site) -> CreatedVolume:
    view, told = site.view, site.cluster.access_modes.get(volume.storage_class)
    if told is not None:
        volume = msgspec.structs.replace(volume, access_mode=told)
    if not view.store(STORAGE_CLASSES).synced:
        return volume
    found = view.get(STORAGE_CLASSES, volume.storage_class)
    if found is None:
        names = (each.name for each in view.all(STORAGE_CLASSES))
        raise UsageError(
            f"The cluster has no storage class {volume.storage_class}.",
            _there(names, "It has none. Use an existing PVC: `--pvc claim:/data`."),
        )
    mode = told or (READ_WRITE_ONCE if found.makes_disks else READ_WRITE_MANY)
    return msgspec.structs.replace(volume, access_mode=mode)


def _claim(mount: VolumeMount, site: Site) -> PersistentVolumeClaim | None:
    namespace, view = site.team.namespace, site.view
    if not view.store(PVCS).synced:
        return None
    claim = view.get(PVCS, mount.claim, namespace)
    if claim is None:
        there = view.all(PVCS, namespace)
        mine = [each.name for each in there if foreign_claim(each, site.team_name) is None]
        raise _missing(mount.claim, namespace, mine)
    if claim.metadata.deletion_timestamp is not None:
        raise _leaving(mount.claim)
    return claim


def _missing(name: str, namespace: str, others: Sequence[str]) -> NotFoundError:
    hint = _there(others, "`--pvc storage-class:100Gi:/data` creates a new one.")
    return NotFoundError(f"Namespace {namespace} has no PVC {name}.", hint)


def _leaving(name: str) -> ConflictError:
    return ConflictError(f"PVC {name} is being deleted.", "Use another PVC.")


def _volume(cluster: Cluster, claim: PersistentVolumeClaim) -> PersistentVolume | None:
    """The PersistentVolume of a PVC, read live if the watches do not show it."""
    name = claim.spec.volume_name
    seen = cluster.view.get(VOLUMES, name)
    if seen is not None or not name:
        return seen
    return next(iter(cluster.list(VOLUMES, fields=f"metadata.name={name}")), None)


def _refuse_foreign(claim: PersistentVolumeClaim, site: Site) -> None:
    volume = site.view.get(VOLUMES, claim.spec.volume_name)
    foreign = foreign_claim(claim, site.team_name) or cache_alias(claim, volume, site.view)
    if foreign is not None:
        raise _refusal(foreign)


def _refusal(foreign: Foreign) -> NotAllowedError:
    example = foreign.dataset or "chest-xray@v3"
    return NotAllowedError(
        foreign.reason,
        f"Use a PVC of the team. To read a dataset, use `--data {example}:/data`.",
    )


def _is_to_come(mount: VolumeMount, spec: RunSpec, site: Site) -> bool:
    """Whether a PVC is yet to be created: from a snapshot for this run, or for one before it."""
    is_restored = spec.origin is not None and mount.claim == spec.origin.claim
    return is_restored or _made_before(mount, site) is not None


def _made_before(mount: VolumeMount, site: Site) -> CreatedVolume | None:
    """The volume that a PVC will be which is yet to be created for a run before this one."""
    if site.view.get(PVCS, mount.claim, site.team.namespace) is not None:
        return None
    return site.forerunners.volumes.get(mount.claim)


def _to_come(spec: RunSpec, site: Site) -> Iterator[CreatedVolume]:
    """Its PVCs that are yet to be created, from a snapshot or for runs before it, as volumes."""
    if spec.origin is not None:
        volume = CreatedVolume(
            storage_class=spec.origin.storage_class, size="", path=spec.origin.paths[0]
        )
        yield _settled(volume, site)
    yield from filter(None, (_made_before(each, site) for each in spec.mounts))


def _refuse_spread(spec: RunSpec, there: Sequence[VolumeMount], site: Site) -> None:
    """Refuses several nodes with a volume of one node; `there` are the PVCs that exist."""
    if spec.nodes == 1:
        return
    for volume in (*spec.volumes, *_to_come(spec, site)):
        if volume.access_mode != READ_WRITE_MANY:
            raise ConflictError(
                f"Volumes of storage class {volume.storage_class} can be mounted by one node at a"
                f" time, but this run uses {spec.nodes} nodes.",
                f"{_ways_out(site)} Or use one node: `--nodes 1`.",
            )
    for mount in there:
        claim = _claim(mount, site)
        if claim is not None and _is_of_one_node(claim):
            raise ConflictError(
                f"PVC {mount.claim} is {_modes(claim)}, so only one node at a time can mount it,"
                f" but this run uses {spec.nodes} nodes.",
                f"{_ways_out(site)} Or use one node: `--nodes 1`.",
            )


def _refuse_elsewhere(claim: PersistentVolumeClaim, site: Site) -> None:
    """Refuses a volume that a pod on one node mounts, if the run may be scheduled elsewhere."""
    if not _is_of_one_node(claim) or len(site.view.all(NODES)) == 1:
        return
    before = site.forerunners.run_ids
    users = _users(claim, site.view.all(PODS, claim.namespace))
    user = next((each for each in users if each.labels.get(labels.RUN) not in before), None)
    if user is None:
        return
    name = without_mentions(user.metadata.annotations.get(labels.RUN_NAME, user.name))
    raise ConflictError(
        f"PVC {claim.name} is {_modes(claim)}, so only one node at a time can mount it, and run"
        f" {name} uses it on node {user.spec.node_name}.",
        f"{_ways_out(site)} Or wait until {name} ends.",
    )


def _users(claim: PersistentVolumeClaim, pods: Iterable[Pod]) -> Iterable[Pod]:
    return (
        pod
        for pod in pods
        if pod.spec.node_name and not has_ended(pod) and claim.name in pod.spec.claims
    )


def _is_of_one_node(claim: PersistentVolumeClaim) -> bool:
    modes = claim.status.access_modes or claim.spec.access_modes
    return bool(modes) and not set(modes) & _MANY


def _modes(claim: PersistentVolumeClaim) -> str:
    return " and ".join(claim.status.access_modes or claim.spec.access_modes)


def _ways_out(site: Site) -> str:
    """The hint that says how to have the same data on several nodes."""
    told = site.cluster.access_modes
    shared = sorted(
        each.name
        for each in site.view.all(STORAGE_CLASSES)
        if told.get(each.name, READ_WRITE_ONCE if each.makes_disks else READ_WRITE_MANY)
        == READ_WRITE_MANY
    )
    example = shared[0] if shared else "storage-class"
    return (
        f"Use a ReadWriteMany PVC: `--pvc {example}:100Gi:/data` creates one."
        " Or copy the data into one, from a snapshot or with a run that mounts both."
    )


def _there(names: Iterable[str], otherwise: str) -> str:
    known: Sequence[str] = sorted(names)
    if not known:
        return otherwise
    more = f" and {len(known) - _SHOWN_NAMES} more" if len(known) > _SHOWN_NAMES else ""
    return f"It has: {', '.join(known[:_SHOWN_NAMES])}{more}."
