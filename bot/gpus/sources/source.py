"""The interface of all sources of GPU metrics."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

from bot.errors import MetricsError
from bot.gpus.nodes import Counting

PodName = tuple[str, str]
# A GPU below this is idle: measuring itself makes the driver slightly busy now and then.
IDLE_BELOW = 0.01


class NoGpusError(MetricsError):
    """The source responds, but has no GPU metrics."""


class Figures(NamedTuple):
    """The usage of some GPUs in a minute: those of a pod, or of a node.

    `gpus` is the number of measured GPUs, `busy` the sum of their busy shares, `idle` the number
    of those on which nothing ran. Memory is in MiB.
    """

    gpus: float = 0
    busy: float = 0
    idle: float = 0
    memory_used: float = 0
    memory_total: float = 0


@dataclass
class Told:
    """Figures of a minute by pod, and by node (name or instance id).

    A source reports one or both; what it does not know is absent.
    """

    pods: dict[PodName, Figures] = field(default_factory=dict)
    nodes: dict[str, Figures] = field(default_factory=dict)


class Request(NamedTuple):
    """A pod that held GPUs, and its node; `amount` is in thousandths of a GPU."""

    uid: str
    namespace: str
    pod: str
    node: str
    amount: int


@dataclass
class Requests:
    """GPUs requested by pods in a minute, and GPUs of nodes, in thousandths of a GPU."""

    pods: list[Request] = field(default_factory=list)
    nodes: dict[str, int] = field(default_factory=dict)


class FaultKind(StrEnum):
    """The kind of a GPU fault: a driver error, remapped memory rows, or a failed remap."""

    XID = "xid"
    REMAPPED = "remapped"
    REMAP_FAILED = "remap-failed"


class Fault(NamedTuple):
    """A fault of a GPU of a node; `code` is the XID, or the number of memory rows."""

    node: str
    gpu: str
    kind: FaultKind
    code: int


class Pace(NamedTuple):
    """When a source is queried: `late` minutes after a minute has ended, `together` at a time.

    Incomplete minutes are queried once more after `again` minutes, `again_together` at a time.
    """

    late: int = 1
    together: int = 1
    again: int = 30
    again_together: int = 10


class Source(Protocol):
    """A source of GPU metrics; its requests end within seconds, or raise MetricsError.

    Minutes are counted from 1970. Minutes without figures are absent.
    """

    def figures(self, minutes: range) -> Mapping[int, Told]:
        """The usage of GPUs; NoGpusError if the source has no GPU metrics."""
        ...

    def requests(self, minutes: range, counting: Counting) -> Mapping[int, Requests]:
        """The pods that held GPUs, and the GPUs of nodes."""
        ...

    def faults(self, minutes: range) -> Mapping[int, Collection[Fault]]:
        """The faults of GPUs, if the source reports them."""
        ...

    def check(self, now: datetime) -> str:
        """A short summary of its current figures, for admins; MetricsError if it fails."""
        ...

    def mixture(self, nodes: Collection[str], resource: str, now: datetime) -> str:
        """Evidence that it counts GPUs of other clusters as this one's; empty if there is none.

        `nodes` are those of the cluster, `resource` a pattern for GPU resources in metrics.
        """
        ...

    def close(self) -> None:
        """Closes its connections."""
        ...
