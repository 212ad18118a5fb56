"""GPU metrics of Container Insights and the CloudWatch agent, from Amazon CloudWatch."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from bot.gpus.amounts import WHOLE
from bot.gpus.minutes import minute_of, moment_of
from bot.gpus.nodes import Counting
from bot.gpus.sources.cloudwatch_client import CloudWatchClient, Metric
from bot.gpus.sources.source import IDLE_BELOW, Fault, Figures, NoGpusError, Request, Requests, Told

_INSIGHTS, _AGENT = "ContainerInsights", "CWAgent"
_CLUSTER = "ClusterName"
_MIB, _PERCENT = 1024 * 1024, 100
_REQUESTED, _LIMIT = "pod_gpu_request", "node_gpu_limit"
_LOOK_BACK = 30

_Owner = tuple[str, ...]


class _Family(NamedTuple):
    """Similar metrics; the dimensions `owner` name their owner, and `device` the GPU.

    `names` are the metrics of utilization in percent, memory used and total memory. Memory is in
    units of which a MiB has `per_mib`.
    """

    namespace: str
    names: tuple[str, str, str]
    owner: _Owner
    device: str
    per_mib: int
    words: str


_OF_PODS = _Family(
    _INSIGHTS,
    ("pod_gpu_utilization", "pod_gpu_memory_used", "pod_gpu_memory_total"),
    ("Namespace", "FullPodName"),
    "GpuDevice",
    _MIB,
    "used by pods (Container Insights)",
)
_OF_NODES = _Family(
    _INSIGHTS,
    ("node_gpu_utilization", "node_gpu_memory_used", "node_gpu_memory_total"),
    ("NodeName",),
    "GpuDevice",
    _MIB,
    "on nodes, but not which pod uses which (Container Insights)",
)
_OF_INSTANCES = _Family(
    _AGENT,
    ("nvidia_smi_utilization_gpu", "nvidia_smi_memory_used", "nvidia_smi_memory_total"),
    ("InstanceId",),
    "index",
    1,
    "on instances, but not which pod uses which (CloudWatch agent)",
)
_Gpus = dict[tuple[_Owner, str], tuple[Metric, Metric, Metric]]


class CloudWatch:
    """GPU metrics of one EKS cluster.

    `instances` are the nodes of the cluster by instance id; None if unknown.
    """

    def __init__(
        self, client: CloudWatchClient, cluster: str, instances: Mapping[str, str] | None
    ) -> None:
        self._client = client
        self._cluster = cluster
        self._instances = instances

    def figures(self, minutes: range) -> Mapping[int, Told]:
        """The usage of GPUs by pod, or by node if there are no metrics by pod."""
        family, gpus = self._found(minutes)
        values = self._client.averages(
            [each for of_gpu in gpus.values() for each in of_gpu], minutes
        )
        found: dict[int, Told] = {}
        for (owner, _), metrics in gpus.items():
            percents, used, total = (values[each] for each in metrics)
            for minute, percent in percents.items():
                if 0 <= percent <= _PERCENT:
                    memory = tuple(each.get(minute, 0.0) / family.per_mib for each in (used, total))
                    figures = _of_one(percent / _PERCENT, *memory)
                    self._add(found.setdefault(minute, Told()), owner, figures)
        return found

    def requests(self, minutes: range, counting: Counting) -> Mapping[int, Requests]:  # noqa: ARG002 - it knows of whole GPUs alone
        """The pods that held GPUs, from Container Insights, which does not report their nodes."""
        found: dict[int, Requests] = {}
        for (node,), minute, value in self._of_each(_LIMIT, _OF_NODES.owner, minutes):
            found.setdefault(minute, Requests()).nodes[node] = round(value * WHOLE)
        for (namespace, pod), minute, value in self._of_each(_REQUESTED, _OF_PODS.owner, minutes):
            if minute in found and value:
                request = Request("", namespace, pod, "", round(value * WHOLE))
                found[minute].pods.append(request)
        return found

    def faults(self, minutes: range) -> Mapping[int, Collection[Fault]]:  # noqa: ARG002 - as it says
        """Empty: neither of its agents reports faults."""
        return {}

    def check(self, now: datetime) -> str:
        """The number of GPUs with current metrics, and whether these are by pod."""
        last = minute_of(now)
        minutes = range(last - _LOOK_BACK, last)
        family, gpus = self._found(minutes)
        values = self._client.averages([metrics[0] for metrics in gpus.values()], minutes)
        count = sum(1 for each in values.values() if each)
        can_fill = any(True for _ in self._of_each(_LIMIT, _OF_NODES.owner, minutes))
        gaps = "; minutes while the bot is down stay unknown: no node_gpu_limit"
        return f"CloudWatch reports {count} {family.words}{'' if can_fill else gaps}"

    def mixture(self, nodes: Collection[str], resource: str, now: datetime) -> str:  # noqa: ARG002
        """Empty: its metrics are queried by the name of the cluster."""
        return ""

    def close(self) -> None:
        """Closes its connections."""
        self._client.close()

    def _found(self, minutes: range) -> tuple[_Family, _Gpus]:
        """The metrics of each GPU, from the first family that has any."""
        for family in (_OF_PODS, _OF_NODES, _OF_INSTANCES):
            gpus: _Gpus = {}
            for metric in self._listed(family.namespace, family.names[0], family.device, minutes):
                owner = _owner(metric, family.owner)
                if owner is not None and self._is_ours(family, owner):
                    device = dict(metric.dimensions)[family.device]
                    first, second, third = (metric._replace(name=each) for each in family.names)
                    gpus[owner, device] = first, second, third
            if gpus:
                return family, gpus
        raise NoGpusError(
            f"CloudWatch has no GPU metrics for {self._cluster}.",
            "Enable Container Insights with enhanced observability there, or run the CloudWatch"
            " agent on its nodes with nvidia_gpu and the dimension InstanceId.",
        )

    def _is_ours(self, family: _Family, owner: _Owner) -> bool:
        """Whether a metric is of this cluster: agents of all instances of the account report."""
        return family is not _OF_INSTANCES or self._instances is None or owner[0] in self._instances

    def _add(self, told: Told, owner: _Owner, figures: Figures) -> None:
        if len(owner) > 1:
            key = owner[0], owner[1]
            told.pods[key] = _together(told.pods.get(key, Figures()), figures)
        else:
            node = (self._instances or {}).get(owner[0], owner[0])
            told.nodes[node] = _together(told.nodes.get(node, Figures()), figures)

    def _listed(
        self, namespace: str, name: str, dimension: str, minutes: range
    ) -> Iterator[Metric]:
        of_cluster = {_CLUSTER: self._cluster} if namespace == _INSIGHTS else {}
        dimensions = {dimension: "", **of_cluster}
        return self._client.metrics(namespace, name, dimensions, moment_of(minutes.start))

    def _of_each(
        self, name: str, owner: Sequence[str], minutes: range
    ) -> Iterator[tuple[_Owner, int, float]]:
        """The values of a metric that has one series per owner: owner, minute and value."""
        metrics = {
            whose: metric
            for metric in self._listed(_INSIGHTS, name, owner[-1], minutes)
            if (whose := _owner(metric, owner)) is not None
        }
        values = self._client.averages(list(metrics.values()), minutes)
        for whose, metric in metrics.items():
            for minute, value in values[metric].items():
                yield whose, minute, value


def _owner(metric: Metric, names: Sequence[str]) -> _Owner | None:
    """The owner of a metric; None for averages over several owners."""
    dimensions = dict(metric.dimensions)
    return tuple(dimensions[each] for each in names) if dimensions.keys() >= set(names) else None


def _of_one(busy: float, used: float, total: float) -> Figures:
    return Figures(1, busy, 1 if busy < IDLE_BELOW else 0, used, total)


def _together(some: Figures, more: Figures) -> Figures:
    return Figures(*(one + another for one, another in zip(some, more, strict=True)))
