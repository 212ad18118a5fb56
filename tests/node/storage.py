"""Volumes of real nodes: a CSI driver over a folder of this machine, with Kubernetes' sidecars.

Every node sees the same folder, so that a volume can be mounted on both at once. A StorageClass, a
VolumeSnapshotClass and a CSIDriver lead to it; sizes are noted, and limit nothing.
"""

from functools import partial
from pathlib import Path

from tests.cluster.api import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.node.building import Nodes

CLASS, DRIVER = "folder", "folder.tests.quartermaster.dev"
SNAPSHOTS = "snapshot.storage.k8s.io"
PROGRAM, _CONTROLLER = "csi-folder", "snapshot-controller"
_SIDECARS = ("csi-provisioner", "csi-resizer", "csi-snapshotter")
_LIMITS = ("--kube-api-qps=50", "--kube-api-burst=100")
_FILES_ARE_THE_GROUPS = {"attachRequired": False, "fsGroupPolicy": "File"}


def start(plane: ControlPlane, built: Nodes) -> None:
    """Starts the driver's controller and what calls it; PVCs of its class get volumes soon."""
    api, socket = plane.api, str(plane.folder / "csi.sock")
    opener = (f"--kubeconfig={plane.folder / 'operators.kubeconfig'}", *_LIMITS)
    plane.run(PROGRAM, *_driver(plane, built, socket))
    for name in _SIDECARS:
        plane.run(name, str(built.storage / name), f"--csi-address={socket}", *opener)
    plane.run(_CONTROLLER, str(built.storage / _CONTROLLER), *opener)
    named = {"metadata": {"name": CLASS}}
    api.create("csidrivers.storage", {"metadata": {"name": DRIVER}, "spec": _FILES_ARE_THE_GROUPS})
    kind = {"provisioner": DRIVER, "allowVolumeExpansion": True}
    api.create("storageclasses.storage", {**named, **kind})
    taken = {"driver": DRIVER, "deletionPolicy": "Delete"}
    api.create(f"volumesnapshotclasses.{SNAPSHOTS}", {**named, **taken})


def on_node(plane: ControlPlane, built: Nodes, node: str) -> list[str]:
    """The command of a node's driver, which mounts volumes for its pods."""
    folder = plane.folder / node
    plugins = folder / "kubelet" / "plugins_registry"
    command = _driver(plane, built, str(folder / "csi.sock"))
    return [*command, f"-node={node}", f"-plugins={plugins}"]


def wait(plane: ControlPlane, nodes: list[str]) -> None:
    """Returns when the kubelets of nodes know the driver."""
    for node in nodes:
        wait_for(partial(_is_known, plane, node), f"the driver of {node}")


def volumes(plane: ControlPlane) -> set[str]:
    """The handles of the volumes that the driver has."""
    return _kept(plane, "volumes")


def snapshots(plane: ControlPlane) -> set[str]:
    """The handles of the snapshots that the driver has."""
    return _kept(plane, "snapshots")


def folder(plane: ControlPlane, namespace: str, claim: str) -> Path:
    """Where the driver keeps the files of a PVC."""
    name = (plane.api.get("persistentvolumeclaims", claim, namespace) or {})["spec"]["volumeName"]
    volume = plane.api.get("persistentvolumes", name) or {}
    handle = str(volume["spec"]["csi"]["volumeHandle"])
    return _data(plane) / "volumes" / handle / "files"


def _driver(plane: ControlPlane, built: Nodes, socket: str) -> list[str]:
    program = str(built.storage / PROGRAM)
    return [program, f"-name={DRIVER}", f"-data={_data(plane)}", f"-socket={socket}"]


def _data(plane: ControlPlane) -> Path:
    return plane.folder / "storage"


def _kept(plane: ControlPlane, kind: str) -> set[str]:
    return {path.name for path in (_data(plane) / kind).iterdir()}


def _is_known(plane: ControlPlane, node: str) -> bool:
    found = plane.api.get("csinodes.storage", node) or {"spec": {"drivers": ()}}
    return any(each["name"] == DRIVER for each in found["spec"]["drivers"] or ())
