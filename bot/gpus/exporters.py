"""What DCGM's exporter and kube-state-metrics said, minute by minute, as a Prometheus keeps it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple

from bot.gpus.minutes import moment_of
from bot.gpus.nodes import Counting
from bot.gpus.prometheus import Prometheus

# Exporters are scraped once a minute at the least.
_SPAN = "[90s]"
_ACTIVE, _UTILIZATION = "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_DEV_GPU_UTIL"
_USED, _FREE = "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE"
# Below this nothing ran: a driver that answers the exporter is seen now and then.
_IDLE_BELOW = 0.01
_NOT_AVAILABLE = "1e15"
REQUESTS, _PHASE = "kube_pod_container_resource_requests", "kube_pod_status_phase"
_ALLOCATABLE = "kube_node_status_allocatable"

PodName = tuple[str, str]


class Figures(NamedTuple):
    """What the GPUs of a pod did in a minute.

    `gpus` is of how many it is known; `busy` how many of them would have been busy all the time,
    `idle` on how many nothing ran. Memory is in MiB.
    """

    gpus: float = 0
    busy: float = 0
    idle: float = 0
    memory_used: float = 0
    memory_total: float = 0


class Request(NamedTuple):
    """A pod that held GPUs, and on which node; `amount` is in thousandths of one."""

    uid: str
    namespace: str
    pod: str
    node: str
    amount: int


@dataclass
class Requests:
    """What was held in a minute, and what nodes had, in thousandths of a GPU."""

    pods: list[Request] = field(default_factory=list)
    nodes: dict[str, int] = field(default_factory=dict)


def figures(prometheus: Prometheus, minutes: range) -> dict[int, dict[PodName, Figures]]:
    """By minute and pod what GPUs did, as far as anybody knows; MetricsError, NoGpusError."""
    namespace, pod = prometheus.names(moment_of(minutes.stop))
    found: dict[int, dict[PodName, dict[str, float]]] = {}
    for labels, minute, value in prometheus.each_minute(_all_figures(namespace, pod), minutes):
        key = (labels.get(namespace, ""), labels.get(pod, ""))
        of_minute = found.setdefault(minute, {})
        of_minute.setdefault(key, {})[labels.get("figure", "")] = value
    return {
        minute: {key: Figures(**said) for key, said in pods.items() if said.get("gpus")}
        for minute, pods in found.items()
    }


def requests(prometheus: Prometheus, minutes: range, counting: Counting) -> dict[int, Requests]:
    """By minute who held GPUs; a minute that kube-state-metrics does not know of is absent."""
    chosen = f'resource=~"{counting.pattern}"'
    nodes = f"max by (node, resource) (last_over_time({_ALLOCATABLE}{{{chosen}}}{_SPAN}))"
    found: dict[int, Requests] = {}
    for labels, minute, value in prometheus.each_minute(nodes, minutes):
        node, amount = labels.get("node", ""), _amount(labels, value, counting)
        of_minute = found.setdefault(minute, Requests())
        of_minute.nodes[node] = of_minute.nodes.get(node, 0) + amount
    if not found:
        return {}
    is_renamed = prometheus.has(REQUESTS, "exported_pod", moment_of(minutes.stop))
    prefix = "exported_" if is_renamed else ""
    query = _all_requests(prefix, chosen)
    for labels, minute, value in prometheus.each_minute(query, minutes):
        if minute in found:
            request = Request(
                labels.get("uid", ""),
                labels.get(f"{prefix}namespace", ""),
                labels.get(f"{prefix}pod", ""),
                labels.get("node", ""),
                _amount(labels, value, counting),
            )
            found[minute].pods.append(request)
    return found


def _amount(labels: Mapping[str, str], value: float, counting: Counting) -> int:
    return counting.held({labels.get("resource", ""): Decimal(str(value))})


def _all_figures(namespace: str, pod: str) -> str:
    """All figures of all pods by one query, told apart by a label."""
    known = f'{{{pod}!=""}}'
    one_gpu = f"by ({namespace}, {pod}, UUID, gpu, GPU_I_ID)"
    active = f"max {one_gpu} (avg_over_time({_ACTIVE}{known}{_SPAN}) <= 1)"
    utilized = f"max {one_gpu} (avg_over_time({_UTILIZATION}{known}{_SPAN}) <= 100) / 100"
    busy = f"({active} or {utilized})"
    used, free = (f"avg_over_time({each}{known}{_SPAN})" for each in (_USED, _FREE))
    one_pod = f"by ({namespace}, {pod})"
    parts = {
        "gpus": f"count {one_pod} ({busy})",
        "busy": f"sum {one_pod} ({busy})",
        "idle": f"count {one_pod} ({busy} < {_IDLE_BELOW})",
        "memory_used": f"sum {one_pod} (max {one_gpu} ({used} < {_NOT_AVAILABLE}))",
        "memory_total": f"sum {one_pod} (max {one_gpu} ({used} + {free} < {_NOT_AVAILABLE}))",
    }
    return " or ".join(
        f'label_replace({query}, "figure", "{name}", "", "")' for name, query in parts.items()
    )


def _all_requests(prefix: str, chosen: str) -> str:
    """What pods that have a node and have not ended request, whatever they do there."""
    pod = f"{prefix}namespace, {prefix}pod"
    each = f"{pod}, uid, node, resource"
    asked = f'last_over_time({REQUESTS}{{{chosen},node!=""}}{_SPAN})'
    phases = f'last_over_time({_PHASE}{{phase=~"Pending|Running"}}{_SPAN})'
    there = f"(max by ({pod}) ({phases}) == 1)"
    one = f"sum by ({each}) (max by ({each}, {prefix}container) ({asked}))"
    return f"{one} * on ({pod}) group_left () {there}"
