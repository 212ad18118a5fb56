"""Kueue's flavors as GPU types that runs can request."""

from bot.cluster.resources import RESOURCE_FLAVORS
from bot.cluster.types.queues import ResourceFlavorSpec
from bot.cluster.view import View
from bot.errors import ConflictError
from bot.quotas.engines.engine import Placement, Queue

_REPELLING = {"NoSchedule", "NoExecute"}


def placement_of(view: View, queue: Queue, gpu_type: str) -> Placement:
    """The node labels by which Kueue skips the queue's other flavors.

    The run also gets tolerations for the taints of these nodes. ConflictError if the labels do not
    distinguish the flavor from another one.
    """
    known = {each.name: each for each in view.all(RESOURCE_FLAVORS)}
    asked = known.get(gpu_type)
    if asked is None:
        raise ConflictError(
            f"ClusterQueue {queue.name} has quota of {gpu_type}, but no ResourceFlavor of that name"
            " exists.",
            "A platform admin has to create it.",
        )
    others = (known.get(each.flavor) for each in queue.figures if each.flavor != gpu_type)
    alike = next((each for each in others if each and is_mistaken(asked.spec, each.spec)), None)
    if alike is not None:
        raise ConflictError(
            f"Kueue cannot distinguish {gpu_type} from {alike.name}: the nodeLabels of"
            f" ResourceFlavor {gpu_type} match both.",
            "Leave out `--gpu-type`, or ask a platform admin to give both a nodeLabel with"
            " different values.",
        )
    return Placement("", {}, dict(asked.spec.node_labels), _tolerations(asked.spec))


def is_mistaken(asked: ResourceFlavorSpec, other: ResourceFlavorSpec) -> bool:
    """Whether pods with the node labels of one flavor may get the other one instead.

    Kueue compares the labels that both have, and skips flavors with taints that are not tolerated.
    """
    both = asked.node_labels.keys() & other.node_labels.keys()
    if any(asked.node_labels[key] != other.node_labels[key] for key in both):
        return False
    repelling = [each for each in other.node_taints if each.effect in _REPELLING]
    return bool(other.tolerations) or all(each in asked.node_taints for each in repelling)


def _tolerations(flavor: ResourceFlavorSpec) -> tuple[dict[str, str], ...]:
    return tuple(
        {"key": each.key, "operator": "Equal", "value": each.value, "effect": each.effect}
        for each in flavor.node_taints
        if each.effect in _REPELLING
    )
