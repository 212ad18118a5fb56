"""Nodes with GPUs: their number of GPUs, GPU type and node pool."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from bot.cluster.resources import NODES, RESOURCE_FLAVORS
from bot.cluster.types.objects import Node, has_condition
from bot.cluster.types.queues import ResourceFlavor
from bot.cluster.view import View
from bot.config import Fractions, Gpus
from bot.gpus.amounts import WHOLE

_PRODUCT = "nvidia.com/gpu.product"
# A slice like nvidia.com/mig-1g.10gb has one of the seven compute slices of most GPUs.
_SLICE = re.compile(r"nvidia_com_mig_(?P<units>\d)g_(?P<memory>\d+)gb.*")
_SLICES = "nvidia_com_mig_.+"
_UNITS = 7
# Those of others by what their product label names, and by the profiles that no other GPU has.
_FEWER_UNITS = {"A30": 4, "RTX-PRO-6000": 4, "RTX-PRO-5000": 2, "RTX-PRO-4500": 2}
_PRODUCTS = re.compile(rf"(?:^|-)({'|'.join(_FEWER_UNITS)})(?:-|$)")
_FEWER_UNITS_BY_PROFILE = {("1", "6"): 4, ("2", "12"): 4, ("4", "24"): 4}
_AWS = "aws:///"


class NodePool(NamedTuple):
    """The GPU type and the pool of a node; empty if unknown."""

    gpu_type: str = ""
    pool: str = ""


class Counting(NamedTuple):
    """How a cluster counts GPUs; `products` are the product labels of nodes."""

    resource: str
    fractions: Fractions
    products: Mapping[str, str] = MappingProxyType({})

    def held(self, resources: Mapping[str, Decimal], node: str = "") -> int:
        """The amount of GPUs in a node's resources, in thousandths of a GPU.

        Resource names may be spelled as in metrics.
        """
        product = self.products.get(node, "")
        return sum(self._held(name, amount, product) for name, amount in resources.items())

    @property
    def pattern(self) -> str:
        """A pattern for all GPU resources, as spelled in metrics."""
        units = self.fractions.units
        names = {
            self.resource,
            *self.fractions.sizes.values(),
            *({units.resource} if units else ()),
        }
        return "|".join(sorted({_in_metrics(each) for each in names} | {_SLICES}))

    def _held(self, name: str, amount: Decimal, product: str) -> int:
        plain, units = _in_metrics(name), self.fractions.units
        if units is not None and plain == _in_metrics(units.resource):
            return int(amount * WHOLE / units.per_gpu)
        if plain == _in_metrics(self.resource):
            return int(amount * WHOLE)
        for size, resource in self.fractions.sizes.items():
            if plain == _in_metrics(resource):
                return int(amount * Decimal(size) * WHOLE)
        found = _SLICE.fullmatch(plain)
        if found is None:
            return 0
        profile = found["units"], found["memory"]
        return int(amount * WHOLE * int(found["units"]) / _units(product, profile))


def counting_of(view: View, resource: str, fractions: Fractions) -> Counting:
    """How a cluster counts the GPUs of its nodes."""
    products = {node.name: node.labels.get(_PRODUCT, "") for node in view.all(NODES)}
    return Counting(resource, fractions, products)


def _units(product: str, profile: tuple[str, str]) -> int:
    """The number of compute slices of a whole GPU with this MIG profile."""
    known = _PRODUCTS.search(product)
    if known is not None:
        return _FEWER_UNITS[known[1]]
    return _UNITS if product else _FEWER_UNITS_BY_PROFILE.get(profile, _UNITS)


def places(view: View, settings: Gpus) -> dict[str, NodePool]:
    """The GPU type and pool of each node of a cluster, by name."""
    flavors = view.all(RESOURCE_FLAVORS)
    return {
        node.name: NodePool(_type_of(node, flavors), _pool_of(node, settings.pool_labels))
        for node in view.all(NODES)
    }


def instances_of(view: View) -> dict[str, str]:
    """The nodes of a cluster on AWS, by instance id."""
    machines = {node.spec.provider_id: node.name for node in view.all(NODES)}
    return {
        where.rpartition("/")[2]: node for where, node in machines.items() if where.startswith(_AWS)
    }


@lru_cache(maxsize=1024)
def _in_metrics(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9]", "_", name)


def is_ready(node: Node) -> bool:
    """Whether a node is ready and schedulable."""
    return has_condition(node.status.conditions, "Ready") and not node.spec.unschedulable


def _type_of(node: Node, flavors: Sequence[ResourceFlavor]) -> str:
    """The flavor with the most node labels that match, else the driver's product label."""
    by_labels: dict[int, list[str]] = {}
    for each in flavors:
        if each.spec.node_labels.items() <= node.labels.items():
            by_labels.setdefault(len(each.spec.node_labels), []).append(each.name)
    best = by_labels[max(by_labels)] if by_labels else []
    return best[0] if len(best) == 1 else node.labels.get(_PRODUCT, "")


def _pool_of(node: Node, labels: Sequence[str]) -> str:
    return next((node.labels[each] for each in labels if each in node.labels), "")
