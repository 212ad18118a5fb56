"""One real node: a kubelet and a containerd in namespaces of their own, run by node.sh."""

import json
from collections.abc import Mapping
from pathlib import Path

import yaml

from tests.cluster.api import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.node import cgroups, storage
from tests.node.building import Nodes, run
from tests.node.network import Network

GPU = "nvidia.com/gpu"
_SCRIPT = Path(__file__).with_name("node.sh")
_CRI = "io.containerd.cri.v1"
_READY_SECONDS = 180.0


class Node:
    """Node `number` (from 1) of a control plane, called node-1, node-2, ..."""

    def __init__(self, plane: ControlPlane, network: Network, built: Nodes, number: int) -> None:
        self.name = f"node-{number}"
        self.folder = plane.folder / self.name
        self._plane = plane
        self._built = built
        self._network = network
        self._number = number
        self._cgroup = network.namespace(number)

    def start(self, labels: Mapping[str, str]) -> None:
        """Starts it; it is ready when `wait` returns."""
        self.folder.mkdir()
        cgroups.make(self._cgroup)
        self._write_files()
        said = ",".join(f"{key}={value}" for key, value in labels.items())
        self._plane.run(
            self.name,
            *self._network.inside(self._number),
            "unshare",
            *("--mount", "--uts", "--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc"),
            *("sh", str(_SCRIPT), str(self.folder), str(self._built.programs)),
            *(str(self._built.images), self.name, self._network.address(self._number), said),
            *storage.on_node(self._plane, self._built, self.name),
        )

    def wait(self, gpus: int) -> None:
        """Returns when pods can run on it and it has so many GPUs."""
        try:
            wait_for(self._is_ready, self.name, _READY_SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log_tail()}") from None
        counted = {"capacity": {GPU: str(gpus)}}
        self._plane.api.patch("nodes", self.name, {"status": counted}, subresource="status")
        wait_for(lambda: self._allocatable(GPU) == str(gpus), f"the GPUs of {self.name}")

    def load(self, archive: Path) -> None:
        """Loads the images of a docker archive, for pods that start from now on."""
        socket, program = self.folder / "containerd.sock", self._built.programs / "ctr"
        load = ("-n", "k8s.io", "images", "import", "--local", str(archive))
        run(str(program), "-a", str(socket), *load)

    def remove(self) -> None:
        """Undoes what its end left; its processes have ended before."""
        cgroups.remove(self._cgroup)

    def log_tail(self, characters: int = 2000) -> str:
        """The end of what containerd and the kubelet said."""
        said = []
        for name in ("images", "containerd", "kubelet", "proxy", "storage"):
            path = self.folder / f"{name}.log"
            text = path.read_text("utf-8", errors="replace") if path.exists() else "(nothing)"
            said.append(f"{self.name} {name}:\n{text[-characters:]}")
        return "\n".join(said)

    def _is_ready(self) -> bool:
        found = self._plane.api.get("nodes", self.name) or {}
        conditions = found.get("status", {}).get("conditions", ())
        return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)

    def _allocatable(self, resource: str) -> str:
        found = self._plane.api.get("nodes", self.name) or {}
        told: Mapping[str, str] = found.get("status", {}).get("allocatable", {})
        return told.get(resource, "")

    def _write_files(self) -> None:
        (self.folder / "containerd.toml").write_text(self._containerd())
        (self.folder / "kubelet.yaml").write_text(yaml.safe_dump(self._kubelet()))
        (self.folder / "proxy.yaml").write_text(yaml.safe_dump(self._proxy()))
        (self.folder / "cni").mkdir()
        (self.folder / "cni" / "10-pods.conflist").write_text(self._pods_network())
        (self.folder / "resolv.conf").write_text(f"nameserver {self._network.gateway}\n")

    def _containerd(self) -> str:
        """Without CAP_SYS_RESOURCE, which some machines withhold, scores are not lowered."""
        return f"""
version = 3
root = "{self.folder}/containerd"
state = "/run/containerd-state"
[grpc]
  address = "{self.folder}/containerd.sock"
[plugins."{_CRI}.images".pinned_images]
  sandbox = "localhost/pause:1"
[plugins."{_CRI}.runtime"]
  restrict_oom_score_adj = true
[plugins."{_CRI}.runtime".cni]
  bin_dirs = ["{self._built.programs}"]
  conf_dir = "{self.folder}/cni"
[plugins."{_CRI}.runtime".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."{_CRI}.runtime".containerd.runtimes.runc.options]
  SystemdCgroup = false
"""

    def _pods_network(self) -> str:
        ranges = [[{"subnet": self._network.pods(self._number)}]]
        addresses = {"type": "host-local", "ranges": ranges, "routes": [{"dst": "0.0.0.0/0"}]}
        bridge = {"type": "bridge", "bridge": "pods0", "isGateway": True, "ipam": addresses}
        return json.dumps({"cniVersion": "1.0.0", "name": "pods", "plugins": [bridge]})

    def _proxy(self) -> Mapping[str, object]:
        """Services lead to pods by nftables; the kernel's own limits stay as they are."""
        kept = {"maxPerCore": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"}
        return {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "mode": "nftables",
            "hostnameOverride": self.name,
            "clientConnection": {"kubeconfig": str(self._plane.folder / "nodes.kubeconfig")},
            "conntrack": kept,
            "metricsBindAddress": "127.0.0.1:10249",
        }

    def _kubelet(self) -> Mapping[str, object]:
        authority = str(self._plane.folder / "front.crt")
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": self._network.address(self._number),
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": False},
                "x509": {"clientCAFile": authority},
            },
            "authorization": {"mode": "AlwaysAllow"},
            "containerRuntimeEndpoint": f"unix://{self.folder}/containerd.sock",
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{self._cgroup}",
            "failCgroupV1": False,
            "failSwapOn": False,
            "enforceNodeAllocatable": [],
            "localStorageCapacityIsolation": False,
            "clusterDomain": "cluster.local",
            "clusterDNS": [self._network.gateway],
            "resolvConf": f"{self.folder}/resolv.conf",
            "podLogsDir": f"{self.folder}/pods",
            "volumePluginDir": f"{self.folder}/plugins",
            "makeIPTablesUtilChains": False,
            "evictionHard": {"memory.available": "200Mi", "nodefs.available": "1%"},
            "imageGCHighThresholdPercent": 100,
            "serializeImagePulls": False,
            "nodeStatusUpdateFrequency": "5s",
        }
