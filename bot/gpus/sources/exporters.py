"""GPU metrics of the DCGM exporter and kube-state-metrics by minute, from a Prometheus."""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from decimal import Decimal

from bot.gpus.minutes import moment_of
from bot.gpus.nodes import Counting
from bot.gpus.sources.prometheus import Prometheus, present
from bot.gpus.sources.source import (
    IDLE_BELOW,
    Fault,
    FaultKind,
    Figures,
    NoGpusError,
    PodName,
    Request,
    Requests,
    Told,
)

# Exporters are scraped at least once a minute.
_SPAN, _EDGE_MINUTES = "[90s]", 2
_LOOK_BACK_MINUTES, _FEW = 15, 3
_LOOK_BACK = f"[{_LOOK_BACK_MINUTES}m]"
# The share of time in which anything ran on a GPU: the second is missing under MIG, the first
# where profiling is off.
_ACTIVE, _UTILIZATION = "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_DEV_GPU_UTIL"
_EMPTY = '""'
_EITHER = f'__name__=~"{_ACTIVE}|{_UTILIZATION}"'
_USED, _FREE = "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE"
_NONE, _NOT_AVAILABLE = 1e15, "1e15"
_FAULTS = {
    FaultKind.XID: "DCGM_FI_DEV_XID_ERRORS",
    FaultKind.REMAPPED: "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
    FaultKind.REMAP_FAILED: "DCGM_FI_DEV_ROW_REMAP_FAILURE",
}
_REQUESTS, _PHASE = "kube_pod_container_resource_requests", "kube_pod_status_phase"
_GOING_ON = 'phase=~"Pending|Running"'
_ALLOCATABLE = "kube_node_status_allocatable"
# The exporter's own pod is in `pod` where Prometheus keeps the labels that it sets itself.
_LABELS = (("exported_namespace", "exported_pod"), ("namespace", "pod"))

# Builds the selector of a metric's series.
_Select = Callable[..., str]


class Exporters:
    """GPU metrics of the exporters; the names of their labels are queried once."""

    def __init__(self, prometheus: Prometheus) -> None:
        self._prometheus = prometheus
        self._names: tuple[str, str] | None = None

    def figures(self, minutes: range) -> Mapping[int, Told]:
        """The usage of GPUs by pod, from the DCGM exporter."""
        namespace, pod = self._labels(moment_of(minutes.stop), _reach(minutes))
        found: dict[int, dict[PodName, dict[str, float]]] = {}
        query = _all_figures(self._prometheus.of, namespace, pod)
        for labels, minute, value in self._prometheus.each_minute(query, minutes):
            key = (labels.get(namespace, ""), labels.get(pod, ""))
            of_minute = found.setdefault(minute, {})
            of_minute.setdefault(key, {})[labels.get("figure", "")] = value
        return {
            minute: Told({key: Figures(**said) for key, said in pods.items() if said.get("gpus")})
            for minute, pods in found.items()
        }

    def requests(self, minutes: range, counting: Counting) -> Mapping[int, Requests]:
        """The pods that held GPUs; minutes without kube-state-metrics are absent."""
        chosen = f'resource=~"{counting.pattern}"'
        there = self._prometheus.of(_ALLOCATABLE, chosen)
        nodes = f"max by (node, resource) (last_over_time({there}{_SPAN}))"
        found: dict[int, Requests] = {}
        for labels, minute, value in self._prometheus.each_minute(nodes, minutes):
            node, amount = labels.get("node", ""), _amount(labels, value, counting)
            of_minute = found.setdefault(minute, Requests())
            of_minute.nodes[node] = of_minute.nodes.get(node, 0) + amount
        if not found:
            return {}
        until = moment_of(minutes.stop)
        is_renamed = self._prometheus.has(_REQUESTS, "exported_pod", until, _reach(minutes))
        prefix = "exported_" if is_renamed else ""
        query = _all_requests(self._prometheus.of, prefix, chosen)
        for labels, minute, value in self._prometheus.each_minute(query, minutes):
            if minute in found:
                found[minute].pods.append(_request(labels, value, prefix, counting))
        return found

    def faults(self, minutes: range) -> Mapping[int, Collection[Fault]]:
        """Driver errors (XID) and remapped memory rows, from the DCGM exporter."""
        found: dict[int, set[Fault]] = {}
        query = " or ".join(
            _faulty(kind, self._prometheus.of(each)) for kind, each in _FAULTS.items()
        )
        for labels, minute, value in self._prometheus.each_minute(query, minutes):
            if 0 < value < _NONE:
                node = labels.get("Hostname") or labels.get("hostname", "")
                gpu, kind = labels.get("gpu", ""), FaultKind(labels.get("figure", ""))
                found.setdefault(minute, set()).add(Fault(node, gpu, kind, int(value)))
        return found

    def check(self, now: datetime) -> str:
        """The number of GPUs with current metrics, and what is missing."""
        query = f"count({_busy(self._prometheus.of, *self._labels(now), _LOOK_BACK)})"
        count = sum(value for _, value in self._prometheus.values(query, now))
        can_fill = self._prometheus.has(_REQUESTS, "pod", now, _LOOK_BACK_MINUTES)
        gaps = "; minutes while the bot is down stay unknown: no kube-state-metrics"
        return f"Prometheus reports {count:.0f} used by pods{'' if can_fill else gaps}"

    def mixture(self, nodes: Collection[str], resource: str, now: datetime) -> str:
        """Evidence that series of other clusters count as this one's; empty if there is none.

        `nodes` are those of the cluster.
        """
        chosen = f'resource=~"{resource}"'
        whole = [
            [labels for labels, _ in self._prometheus.values(f"last_over_time({each}{_SPAN})", now)]
            for each in (
                self._prometheus.of(_ALLOCATABLE, chosen),
                self._prometheus.of("", _EITHER),
            )
        ]
        names = {labels["node"] for labels in whole[0] if "node" in labels}
        unknown = sorted(names - set(nodes))
        if unknown:
            more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
            named = f"node {unknown[0]}{more}"
            return f"it has GPU metrics for {named}, which this cluster does not have"
        # Each by itself: the exporters' series often have different labels.
        told = next((each for each in map(_clusters, whole) if each), "")
        return f"its series come from several clusters: {told}" if told else ""

    def close(self) -> None:
        """Closes its connections."""
        self._prometheus.close()

    def _labels(self, at: datetime, minutes: int = _LOOK_BACK_MINUTES) -> tuple[str, str]:
        self._names = self._names or self._look_for_labels(at, minutes)
        return self._names

    def _look_for_labels(self, at: datetime, minutes: int) -> tuple[str, str]:
        """The labels that name namespace and pod, found by one query."""
        query = " or ".join(_labelled(self._prometheus.of, pod, minutes) for _, pod in _LABELS)
        found = {labels.get("figure") for labels, _ in self._prometheus.values(query, at)}
        for namespace, pod in _LABELS:
            if pod in found:
                return namespace, pod
        self._refuse_slips(at, minutes)
        raise NoGpusError(
            f"{self._prometheus.name} has no metrics for GPUs used by pods.",
            "It needs the DCGM exporter with DCGM_EXPORTER_KUBERNETES=true and"
            f" {_ACTIVE} or {_UTILIZATION}.",
        )

    def _refuse_slips(self, at: datetime, minutes: int) -> None:
        """NoGpusError if there are GPU metrics, but none with the labels of this cluster."""
        mine = self._prometheus.matchers
        if not mine:
            return
        query = f"count by ({', '.join(mine)}) (last_over_time({{{_EITHER}}}[{minutes}m]))"
        there = [labels for labels, _ in self._prometheus.values(query, at)]
        others = sorted(_spelled({name: labels.get(name, "") for name in mine}) for labels in there)
        if others and _spelled(mine) not in others:
            more = f" and {len(others) - _FEW} more" if len(others) > _FEW else ""
            raise NoGpusError(
                f"{self._prometheus.name} has no GPU metrics for {_spelled(mine)}.",
                "Check prometheus.matchers. It has GPU metrics for"
                f" {'; '.join(others[:_FEW])}{more}.",
            )


def _clusters(found: Collection[Mapping[str, str]]) -> str:
    """The label with several clusters in these series, and some of its values."""
    for name in sorted({name for labels in found for name in labels if "cluster" in name}):
        values = sorted({labels.get(name) or "missing" for labels in found})
        if len(values) > 1:
            return f"{name} is {' and '.join(values[:_FEW])}"
    return ""


def _spelled(matchers: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value or _EMPTY}" for name, value in matchers.items())


def _request(labels: Mapping[str, str], value: float, prefix: str, counting: Counting) -> Request:
    return Request(
        labels.get("uid", ""),
        labels.get(f"{prefix}namespace", ""),
        labels.get(f"{prefix}pod", ""),
        labels.get("node", ""),
        _amount(labels, value, counting),
    )


def _amount(labels: Mapping[str, str], value: float, counting: Counting) -> int:
    amount = {labels.get("resource", ""): Decimal(str(value))}
    return counting.held(amount, labels.get("node", ""))


def _all_figures(of: _Select, namespace: str, pod: str) -> str:
    """One query for all figures of all pods; a label distinguishes the figures."""
    busy = _busy(of, namespace, pod, _SPAN)
    one_gpu = _one_gpu(namespace, pod)
    used, free = (f"avg_over_time({of(each, present(pod))}{_SPAN})" for each in (_USED, _FREE))
    one_pod = f"by ({namespace}, {pod})"
    parts = {
        "gpus": f"count {one_pod} ({busy})",
        "busy": f"sum {one_pod} ({busy})",
        "idle": f"count {one_pod} ({busy} < {IDLE_BELOW})",
        "memory_used": f"sum {one_pod} (max {one_gpu} ({used} < {_NOT_AVAILABLE}))",
        "memory_total": f"sum {one_pod} (max {one_gpu} ({used} + {free} < {_NOT_AVAILABLE}))",
    }
    return " or ".join(
        f'label_replace({query}, "figure", "{name}", "", "")' for name, query in parts.items()
    )


def _reach(minutes: range) -> int:
    """The look-back of a query for these minutes, in minutes before their end."""
    return max(len(minutes) + _EDGE_MINUTES, _LOOK_BACK_MINUTES)


def _labelled(of: _Select, pod: str, minutes: int) -> str:
    known = f"{of('', _EITHER, present(pod))}[{minutes}m]"
    return f'label_replace(count(last_over_time({known})), "figure", "{pod}", "", "")'


def _faulty(kind: FaultKind, metric: str) -> str:
    """The highest value of each GPU; newer exporters have the node's label in lower case."""
    one = f"max by (Hostname, hostname, gpu) (max_over_time({metric}{_SPAN}))"
    return f'label_replace({one}, "figure", "{kind}", "", "")'


def _busy(of: _Select, namespace: str, pod: str, span: str) -> str:
    """The share of time in which anything ran on each GPU, in 0..1."""
    one_gpu = _one_gpu(namespace, pod)
    profiled, seen = (of(each, present(pod)) for each in (_ACTIVE, _UTILIZATION))
    active = f"max {one_gpu} (avg_over_time({profiled}{span}) <= 1)"
    utilized = f"max {one_gpu} (avg_over_time({seen}{span}) <= 100) / 100"
    return f"({active} or {utilized})"


def _one_gpu(namespace: str, pod: str) -> str:
    return f"by ({namespace}, {pod}, UUID, gpu, GPU_I_ID)"


def _all_requests(of: _Select, prefix: str, chosen: str) -> str:
    """The requests of pods that are assigned to a node and have not ended."""
    pod = f"{prefix}namespace, {prefix}pod"
    each = f"{pod}, uid, node, resource"
    asked = f"last_over_time({of(_REQUESTS, chosen, present('node'))}{_SPAN})"
    phases = f"last_over_time({of(_PHASE, _GOING_ON)}{_SPAN})"
    there = f"(max by ({pod}) ({phases}) == 1)"
    one = f"sum by ({each}) (max by ({each}, {prefix}container) ({asked}))"
    return f"{one} * on ({pod}) group_left () {there}"
