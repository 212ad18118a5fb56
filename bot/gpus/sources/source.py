"""What knows what GPUs did: the one way in which all of them are asked."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

from bot.errors import MetricsError
from bot.gpus.nodes import Counting

PodName = tuple[str, str]
# Below this nothing ran: a driver that answers whoever measures is seen now and then.
IDLE_BELOW = 0.01


class NoGpusError(MetricsError):
    """It answers, and knows nothing of GPUs."""


class Figures(NamedTuple):
    """What some GPUs did in a minute: those of a pod, or of a node.

    `gpus` is of how many it is known; `busy` how many of them would have been busy all the time,
    `idle` on how many nothing ran. Memory is in MiB.
    """

    gpus: float = 0
    busy: float = 0
    idle: float = 0
    memory_used: float = 0
    memory_total: float = 0


@dataclass
class Told:
    """What the GPUs of pods did in a minute, and those of nodes, by the node's name or instance.

    A source tells one or both; what it does not know is absent.
    """

    pods: dict[PodName, Figures] = field(default_factory=dict)
    nodes: dict[str, Figures] = field(default_factory=dict)


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


class FaultKind(StrEnum):
    """What is wrong with a GPU: an error of the driver, rows that broke, or could not be mended."""

    XID = "xid"
    REMAPPED = "remapped"
    REMAP_FAILED = "remap-failed"


class Fault(NamedTuple):
    """Something wrong with a GPU of a node; `code` is the XID, or how many rows."""

    node: str
    gpu: str
    kind: FaultKind
    code: int


class Pace(NamedTuple):
    """How a source is asked: `late` minutes after a minute has ended, `together` at a time.

    What it did not know then it is asked once more, after `again` minutes, `again_together` at a
    time.
    """

    late: int = 1
    together: int = 1
    again: int = 30
    again_together: int = 10


class Source(Protocol):
    """One look at what knows what GPUs did; its requests end in seconds, or raise MetricsError.

    Minutes are counted from 1970. One of which nothing is known is absent.
    """

    def figures(self, minutes: range) -> Mapping[int, Told]:
        """What GPUs did; NoGpusError where it knows of none at all."""
        ...

    def requests(self, minutes: range, counting: Counting) -> Mapping[int, Requests]:
        """Who held GPUs."""
        ...

    def faults(self, minutes: range) -> Mapping[int, Collection[Fault]]:
        """What was wrong with GPUs themselves, as far as it knows of such."""
        ...

    def check(self, now: datetime) -> str:
        """What it knows now, in a few words for an admin; MetricsError says what is wrong."""
        ...

    def mixture(self, nodes: Collection[str], resource: str, now: datetime) -> str:
        """What says that it counts other clusters' GPUs as this one's; empty where nothing does.

        `nodes` are those of the cluster, `resource` a pattern for what metrics call GPUs.
        """
        ...

    def close(self) -> None:
        """Gives its connections back."""
        ...
