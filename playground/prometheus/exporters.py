"""What the DCGM exporter and kube-state-metrics say of a cluster, from what happens in it."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from playground.cluster.cluster import GPU, Cluster
from playground.cluster.control.speech import JUPYTER, saying_of
from playground.cluster.objects.kinds import NODE, POD, Object
from playground.cluster.objects.quantities import parse_quantity
from playground.cluster.objects.store import Change
from playground.prometheus.past import Past, labels

_PHASES = ("Pending", "Running", "Succeeded", "Failed", "Unknown")
_OVER = {"Succeeded", "Failed"}
_RESOURCE = {"resource": "nvidia_com_gpu", "unit": "integer"}
_MEMORY_MIB = 81_559.0
_USUALLY_BUSY = 0.9
_DRIVER = "570.133.20"


@dataclass
class _Gpu:
    """One GPU of a node, who holds it, and the last of the driver's complaints about it."""

    node: str
    index: int
    model: str
    pod: Object | None = None
    xid: int = 0
    said: dict[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def uuid(self) -> str:
        digest = hashlib.sha256(f"{self.node}/{self.index}".encode()).hexdigest()
        return f"GPU-{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}"

    def labels(self) -> dict[str, str]:
        """Those of the exporter, as a Prometheus keeps them that sets its own first."""
        held = {}
        if self.pod is not None:
            metadata, spec = self.pod["metadata"], self.pod["spec"]
            held = {
                "exported_namespace": metadata["namespace"],
                "exported_pod": metadata["name"],
                "exported_container": spec["containers"][0]["name"],
            }
        return {
            "gpu": f"{self.index}",
            "UUID": self.uuid,
            "pci_bus_id": f"00000000:{0x10 + self.index:02X}:00.0",
            "device": f"nvidia{self.index}",
            "modelName": self.model,
            "Hostname": self.node,
            "DCGM_FI_DRIVER_VERSION": _DRIVER,
            "job": "dcgm-exporter",
            "namespace": "monitoring",
            "pod": f"dcgm-exporter-{self.node}",
            "container": "exporter",
            **held,
        }


class Exporters:
    """Says what a cluster's GPUs do, from the moment on that something changes."""

    def __init__(self, cluster: Cluster, past: Past) -> None:
        self._cluster = cluster
        self._past = past
        self._gpus: dict[str, list[_Gpu]] = {}
        self._shares: dict[str, tuple[float, ...]] = {}
        for node in cluster.list("nodes"):
            self._see_node(node)
        for pod in cluster.list("pods"):
            self._see_pod(pod, is_gone=False)
        cluster.inside.store.listeners.append(self._heard)

    def work(self, run: str, shares: tuple[float, ...]) -> None:
        """From now on the GPUs of a run's pods are busy for these shares of the time.

        The last one is that of all others.
        """
        self._shares[run] = shares
        self._tell_all()

    def fail(self, node: str, index: int, xid: int) -> None:
        """The driver complains about a GPU."""
        found = next((each for each in self._gpus.get(node, ()) if each.index == index), None)
        if found is None:
            raise LookupError(f"there is no GPU {index} on a node {node}")
        found.xid = xid
        self._tell_all()

    @property
    def _present(self) -> float:
        return self._cluster.inside.loop.present.timestamp()

    def _heard(self, change: Change) -> None:
        is_gone = change.type == "DELETED"
        if change.kind == POD.qualified:
            self._see_pod(change.obj, is_gone=is_gone)
        elif change.kind == NODE.qualified:
            self._see_node(change.obj, is_gone=is_gone)

    def _see_node(self, node: Object, *, is_gone: bool = False) -> None:
        name, there = node["metadata"]["name"], node["status"].get("allocatable") or {}
        count = 0 if is_gone else int(parse_quantity(there.get(GPU, "0")))
        own = labels("kube_node_status_allocatable", {"node": name, **_RESOURCE, **_STATE})
        if count or name in self._gpus:
            self._past.say(own, self._present, None if is_gone else count)
        gpus = self._gpus.setdefault(name, [])
        model = (node["metadata"].get("labels") or {}).get(f"{GPU}.product", "NVIDIA GPU")
        while len(gpus) < count:
            gpus.append(_Gpu(name, len(gpus), model.replace("-", " ")))
        for gpu in gpus[count:]:
            self._silence(gpu)
        del gpus[count:]
        self._tell(gpus)

    def _see_pod(self, pod: Object, *, is_gone: bool) -> None:
        count = gpus_of(pod)
        if not count:
            return
        self._request(pod, count, is_gone=is_gone)
        uid, phase = pod["metadata"]["uid"], pod["status"]["phase"]
        gpus = self._gpus.get(pod["spec"].get("nodeName", ""), [])
        mine = [gpu for gpu in gpus if gpu.pod and gpu.pod["metadata"]["uid"] == uid]
        is_over = is_gone or phase in _OVER
        if not mine and not is_over:
            mine = [gpu for gpu in gpus if gpu.pod is None][:count]
        for gpu in mine:
            gpu.pod = None if is_over else pod
        self._tell(mine)

    def _request(self, pod: Object, count: int, *, is_gone: bool) -> None:
        """What kube-state-metrics says of a pod for as long as there is one."""
        metadata, spec = pod["metadata"], pod["spec"]
        names = {each: metadata[each] for each in ("namespace", "uid")} | {"pod": metadata["name"]}
        node = spec.get("nodeName", "")
        asked = {**names, **_RESOURCE, **_STATE, "container": spec["containers"][0]["name"]}
        request = "kube_pod_container_resource_requests"
        without = labels(request, asked)
        if node:
            self._past.say(without, self._present, None)
        self._past.say(
            labels(request, {**asked, "node": node}), self._present, None if is_gone else count
        )
        for phase in _PHASES:
            value = None if is_gone else float(pod["status"]["phase"] == phase)
            of = labels("kube_pod_status_phase", {**names, **_STATE, "phase": phase})
            self._past.say(of, self._present, value)

    def _tell_all(self) -> None:
        self._cluster.settle()
        with self._cluster.inside.lock:
            for gpus in self._gpus.values():
                self._tell(gpus)

    def _tell(self, gpus: list[_Gpu]) -> None:
        """What the exporter says of these GPUs from now on; under other labels it is silent."""
        for gpu in gpus:
            own = gpu.labels()
            for name, value in self._values(gpu):
                before = gpu.said.get(name)
                if before is not None and before != own:
                    self._past.say(labels(name, before), self._present, None)
                gpu.said[name] = own
                self._past.say(labels(name, own), self._present, value)

    def _silence(self, gpu: _Gpu) -> None:
        for name, before in gpu.said.items():
            self._past.say(labels(name, before), self._present, None)

    def _values(self, gpu: _Gpu) -> Iterator[tuple[str, float]]:
        busy = self._busy(gpu)
        used = 0.0 if gpu.pod is None else round(_MEMORY_MIB * (0.7 if busy else 0.1))
        yield "DCGM_FI_PROF_GR_ENGINE_ACTIVE", busy
        yield "DCGM_FI_DEV_GPU_UTIL", round(100 * busy)
        yield "DCGM_FI_DEV_FB_USED", used
        yield "DCGM_FI_DEV_FB_FREE", _MEMORY_MIB - used
        yield "DCGM_FI_DEV_XID_ERRORS", gpu.xid

    def _busy(self, gpu: _Gpu) -> float:
        """Which share of the time anything runs; before its pod does, nothing."""
        pod = gpu.pod
        if pod is None or pod["status"]["phase"] != "Running":
            return 0.0
        name = pod["metadata"]["name"]
        named = [run for run in self._shares if name.startswith(f"{run}-")]
        if not named:
            return _usual(pod)
        shares = self._shares[max(named, key=len)]
        uid = pod["metadata"]["uid"]
        held = [
            each.index
            for each in self._gpus[gpu.node]
            if each.pod and each.pod["metadata"]["uid"] == uid
        ]
        return shares[min(held.index(gpu.index), len(shares) - 1)]


_STATE = {"job": "kube-state-metrics"}


def gpus_of(pod: Object) -> int:
    """How many whole GPUs a pod asks for."""
    requests = (each.get("resources", {}).get("requests", {}) for each in pod["spec"]["containers"])
    return sum(int(parse_quantity(each.get(GPU, "0"))) for each in requests)


def _usual(pod: Object) -> float:
    """A notebook that nobody has said anything about computes nothing; other programs work."""
    container = pod["spec"]["containers"][0]
    words = " ".join([*container.get("command", ()), *container.get("args", ())])
    is_notebook = saying_of(words, pod["metadata"]["name"], 0).style == JUPYTER
    return 0.0 if is_notebook else _USUALLY_BUSY
