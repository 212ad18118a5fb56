"""ResourceQuotas of namespaces, reduced to the fields the bot looks at."""

from collections.abc import Mapping

from bot.cluster.types.objects import ClusterObject, ObjectPart
from bot.cluster.types.quantities import Quantity


class AllowanceStatus(ObjectPart, frozen=True, kw_only=True):
    """What a namespace may have of each resource, and what it has."""

    hard: Mapping[str, Quantity] = {}
    used: Mapping[str, Quantity] = {}


class Allowance(ClusterObject, frozen=True, kw_only=True):
    """A ResourceQuota; Kueue's is another thing of the same name."""

    status: AllowanceStatus = AllowanceStatus()
