"""The CSI driver of the nodes, without the bot: what a specification and Kubernetes want of it."""

import re
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.cluster.api import Object, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.site import Site
from tests.node import building, storage
from tests.node.node import Node
from tests.node.nodes import missing
from tests.node.owners import images

_CLAIMS, _VOLUMES = "persistentvolumeclaims", "persistentvolumes"
_SANITY = """
"$0" -name=csi.example.com -data="$2/data" -socket="$2/csi.sock" -node=node-1 2>"$2/driver.log" &
until [ -S "$2/csi.sock" ]; do sleep 0.05; done
"$1" --csi.endpoint="$2/csi.sock" --csi.mountdir="$2/mount" --csi.stagingdir="$2/stage" \
    --csi.testvolumeexpandsize=21474836480 --ginkgo.no-color
"""
# Each writer waits until the other has written, so that both have it mounted at once.
_MEET = (
    "import os, pathlib, sys, time; mine, other = sys.argv[1:]; folder = pathlib.Path('/mnt');"
    " mine and (folder / mine).write_text(mine); path = folder / other;"
    " any(path.exists() or time.sleep(0.1) for _ in range(600)); print(path.read_text());"
    " os.access('/mnt', os.W_OK) == bool(mine) or sys.exit('writing is not as it was asked for')"
)


def test_the_driver_passes_csi_sanity(tmp_path: Path) -> None:
    """In a mount namespace of its own; neither cluster nor nodes are needed."""
    built, absent = building.kept(), missing()
    if absent or built is None:
        pytest.skip(absent or "the driver is not here; `make test-node` builds it")
    programs = [str(built.storage / name) for name in (storage.PROGRAM, "csi-sanity")]
    apart = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
    command = (*apart, "sh", "-c", _SANITY, *programs, str(tmp_path))
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    found = re.search(r"SUCCESS! -- (\d+) Passed \| 0 Failed", done.stdout)
    assert found is not None
    assert int(found[1]) >= 55


@pytest.fixture
def site(plane: ControlPlane, nodes: list[Node]) -> Iterator[Site]:  # noqa: ARG001 - it has nodes
    made = Site(plane.api)
    yield made
    for kind in ("pods", _CLAIMS):
        for each in plane.api.list(kind):
            plane.api.delete(kind, each["metadata"]["name"], each["metadata"]["namespace"])
    made.close()
    wait_for(lambda: not storage.volumes(plane), "the end of all volumes")


def test_namespaces_share_a_volume_on_one_node(plane: ControlPlane, site: Site) -> None:
    """Their PVs have the same handle; a third pod may read it only."""
    first, second, third = [site.add_namespace() for _ in range(3)]
    handle = _provided(plane, first)["spec"]["csi"]["volumeHandle"]
    for namespace in (second, third):
        _share(plane, site, namespace, "data", handle)
    for namespace, mine, other in ((first, "a", "b"), (second, "b", "a"), (third, "", "a")):
        plane.api.create("pods", _pod("node-1", mine, other), namespace)
    ended = [
        wait_for(partial(_ended, plane, each), f"the pod of {each}")
        for each in (first, second, third)
    ]
    assert ended == 3 * ["Succeeded"]


def test_a_volume_grows_without_its_pods(plane: ControlPlane, site: Site) -> None:
    namespace = site.add_namespace()
    _provided(plane, namespace)
    asked = {"spec": {"resources": {"requests": {"storage": "3Gi"}}}}
    plane.api.patch(_CLAIMS, "data", asked, namespace)

    def grown() -> bool:
        status = _claim(plane, namespace)["status"]
        return bool(status["capacity"]["storage"] == "3Gi" and not status.get("conditions"))

    wait_for(grown, "the larger volume")


def _provided(plane: ControlPlane, namespace: str) -> Object:
    """The PV of a PVC `data` that is made for it."""
    spec: Object = {"accessModes": ["ReadWriteMany"], "storageClassName": storage.CLASS}
    spec |= {"resources": {"requests": {"storage": "1Gi"}}}
    plane.api.create(_CLAIMS, {"metadata": {"name": "data"}, "spec": spec}, namespace)
    name = wait_for(lambda: _claim(plane, namespace)["spec"].get("volumeName"), "the volume")
    volume = plane.api.get(_VOLUMES, name)
    assert volume is not None
    return volume


def _claim(plane: ControlPlane, namespace: str) -> Object:
    found = plane.api.get(_CLAIMS, "data", namespace)
    assert found is not None
    return found


def _share(plane: ControlPlane, site: Site, namespace: str, name: str, handle: str) -> None:
    """A PVC on a PV of its own that leads to a volume which is there."""
    size, mode = {"storage": "1Gi"}, ["ReadWriteMany"]
    spec: Object = {"capacity": size, "accessModes": mode, "storageClassName": ""}
    spec |= {"csi": {"driver": storage.DRIVER, "volumeHandle": handle}}
    spec |= {"claimRef": {"namespace": namespace, "name": name}}
    volume = site.add(_VOLUMES, {"metadata": {"name": f"{namespace}-{name}"}, "spec": spec})
    asked: Object = {"accessModes": mode, "storageClassName": "", "volumeName": volume}
    asked |= {"resources": {"requests": size}}
    plane.api.create(_CLAIMS, {"metadata": {"name": name}, "spec": asked}, namespace)


def _pod(node: str, mine: str, other: str) -> Object:
    """A pod that writes `mine` and waits for `other`; without `mine` it mounts for reading only."""
    container = {
        "name": "main",
        "image": f"{images()}/plain:1",
        "command": ["python3", "-c", _MEET, mine, other],
        "volumeMounts": [{"name": "data", "mountPath": "/mnt"}],
    }
    claim = {"claimName": "data", "readOnly": not mine}
    spec = {
        "nodeName": node,
        "restartPolicy": "Never",
        "securityContext": {"runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 1000},
        "containers": [container],
        "volumes": [{"name": "data", "persistentVolumeClaim": claim}],
    }
    return {"metadata": {"name": "pod"}, "spec": spec}


def _ended(plane: ControlPlane, namespace: str) -> str:
    found = plane.api.get("pods", "pod", namespace) or {"status": {}}
    phase: str = found["status"].get("phase", "")
    return phase if phase in {"Succeeded", "Failed"} else ""
