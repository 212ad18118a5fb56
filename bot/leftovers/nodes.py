"""Idle GPU nodes as leftovers, with what removes them in their cloud. Pure: no I/O."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal

from bot.cluster.holders import Holder
from bot.cluster.node_groups import (
    CLUSTER_AUTOSCALER,
    Keeper,
    Maker,
    blocks,
    has_controller,
    kept_by,
    leaves_by,
    names_of,
    scaler_of,
    unneeded_since,
)
from bot.cluster.types.objects import Node
from bot.durations import format_duration
from bot.gpus.idle_nodes import IdleGroup, IdleNode
from bot.gpus.samples.sums import Who
from bot.gpus.status import gpus
from bot.leftovers.leftover import Leftover, cost_of_gpus

_INSTANCE = re.compile(r"aws:///[^/]*/(i-[0-9a-f]+)")
_EKS_CLUSTER, _REGION = "alpha.eksctl.io/cluster-name", "topology.kubernetes.io/region"
_AKS_MODE = "kubernetes.azure.com/mode"
_OF_KARPENTER = (
    "Karpenter usually removes an empty node within minutes. The NodePool (consolidateAfter,"
    " budgets) and the node's events say why it has not. To remove"
)
_MISSED = timedelta(hours=1)
_MOST_KEEPERS, _MOST_NAMED = 3, 10

Named = Callable[[Who], str]


def of_nodes(
    found: Iterable[IdleGroup],
    prices: Mapping[str, Decimal],
    now: datetime,
    named: Named,
    namespace: str | None = None,
) -> Iterator[Leftover]:
    """Nodes whose GPUs nothing has held for some time, by node group.

    `named` names who used them last. With a namespace, pods of others are not named.
    """
    for each in found:
        count = len(each.nodes)
        gpu_type = each.nodes[0].gpu_type
        of = "" if each.group.is_alone else f" of {each.size}" if count < each.size else ""
        kind = "Node" if each.group.is_alone else "Node group"
        advice, command = _removal(each)
        yield Leftover(
            kind,
            f"{each.group.name} ({each.cluster})",
            f"{count}{of} node{'' if count == 1 and not of else 's'}, {gpus(each.gpus)} GPUs",
            _unused(each, now, named),
            cost_of_gpus(each.gpus, prices.get(gpu_type)),
            advice=" ".join([*_remarks(each, now, namespace), advice]),
            command=command,
        )


def _unused(group: IdleGroup, now: datetime, named: Named) -> str:
    """Since when nothing held their GPUs, how well that is known, and who did last."""
    last = max(group.nodes, key=lambda each: each.since)
    idle = format_duration(now - group.since)
    longer = "more than " if last.is_longer else ""
    known = [each for each in group.nodes if each.last is not None]
    used = max(known, key=lambda each: each.since, default=None)
    by = f", last by {named(used.last)}" if used is not None and used.last is not None else ""
    them = "it was" if len(group.nodes) == 1 else "they were"
    never = f", since {them} added" if not by and not last.is_longer else ""
    hidden = group.unobserved
    missed = f" ({format_duration(hidden)} of it unobserved)" if hidden >= _MISSED else ""
    return f"no GPU used for {longer}{idle}{missed}{by}{never}"


def _remarks(group: IdleGroup, now: datetime, namespace: str | None) -> Iterator[str]:
    """What keeps an autoscaler from removing them, and what it says itself."""
    by_reason: dict[str, list[str]] = {}
    for each in group.nodes:
        # Two pods of others on one node are told alike.
        for said in dict.fromkeys(_said_of(each, now, namespace)):
            by_reason.setdefault(said, []).append(each.node.name)
    for said, names in list(by_reason.items())[:_MOST_KEEPERS]:
        yield said.format(node=names_of(names))
    if len(by_reason) > _MOST_KEEPERS:
        yield f"{len(by_reason) - _MOST_KEEPERS} more reasons are not shown."


def _said_of(each: IdleNode, now: datetime, namespace: str | None) -> Iterator[str]:
    scaler, since = scaler_of(each.node), unneeded_since(each.node)
    if leaver := leaves_by(each.node):
        yield f"{leaver} is removing {{node}}."
    elif since is not None:
        idle = format_duration(max(now - since, timedelta()))
        yield (
            f"cluster-autoscaler has counted {{node}} as unneeded for {idle},"
            " and usually removes such a node after 10m."
        )
    if each.node.spec.unschedulable:
        yield "{node} is cordoned."
    by_pod = [blocks(pod, scaler) for pod in each.others]
    for keeper in (*kept_by(each.node), *filter(None, by_pod)):
        yield _keeps(keeper, namespace)
    yield from _others_of(
        pod for pod, keeper in zip(each.others, by_pod, strict=True) if not keeper
    )


def _others_of(pods: Iterable[Holder]) -> Iterator[str]:
    """What becomes of pods that keep no autoscaler from removing their node."""
    is_started_again = Counter(has_controller(pod) for pod in pods)
    if count := is_started_again[True]:
        yield f"{_pods(count)} would move from {{node}}."
    if count := is_started_again[False]:
        why = "it has no controller" if count == 1 else "they have no controllers"
        yield f"{_pods(count)} would end with {{node}} for good: {why}."


def _pods(count: int) -> str:
    return f"{count} pod{'' if count == 1 else 's'} without GPUs"


def _keeps(keeper: Keeper, namespace: str | None) -> str:
    if keeper.pod is None:
        return f"Annotation {keeper.why} of {{node}} keeps {keeper.scaler} from removing it."
    is_hidden = namespace is not None and keeper.pod.namespace != namespace
    pod = "A pod of others" if is_hidden else f"Pod {keeper.pod.namespace}/{keeper.pod.name}"
    return f"{pod} keeps {keeper.scaler} from removing {{node}}: {keeper.why}."


def _removal(group: IdleGroup) -> tuple[str, str]:
    """What people can do about them, and the command for it, empty if there is none."""
    names = [each.node.name for each in group.nodes]
    maker = group.group.maker
    if maker is Maker.KARPENTER:
        return (
            f"{_OF_KARPENTER} {_them(names)} now:",
            f"kubectl delete node {' '.join(names[:_MOST_NAMED])}",
        )
    if group.group.is_alone or maker is Maker.UNKNOWN:
        return "Its cloud is unknown, so remove it where it was added.", ""
    if group.idle < group.size:
        return _some(group, names)
    if maker is Maker.AKS and group.nodes[0].node.labels.get(_AKS_MODE) == "system":
        return "AKS does not scale pools of mode System to zero. Make it smaller in Azure.", ""
    autoscales = any(scaler_of(each.node) == CLUSTER_AUTOSCALER for each in group.nodes)
    refused = "AKS refuses to scale a pool that autoscales: lower its minimum first. "
    above = refused if autoscales and maker is Maker.AKS else ""
    return f"{above}To scale the whole group to zero{_put_in(group)}:", _to_zero(group)


def _some(group: IdleGroup, names: list[str]) -> tuple[str, str]:
    """For a part of a group: a smaller number would end any of its nodes, not these."""
    first, name = group.nodes[0].node, group.group.name
    only = (
        f"Only a part of the group is idle ({names_of(names)}), and with a smaller number the cloud"
        " may end other nodes."
    )
    instance = _INSTANCE.fullmatch(first.spec.provider_id)
    match group.group.maker:
        case Maker.EKS if instance is not None:
            command = (
                "aws autoscaling terminate-instance-in-auto-scaling-group"
                f"{_region(first)} --instance-id {instance[1]} --should-decrement-desired-capacity"
            )
            return f"{only} Drain each, then remove it, {first.name} for example by:", command
        case Maker.AKS:
            machines = " ".join(names[:_MOST_NAMED])
            command = (
                "az aks nodepool delete-machines --resource-group RESOURCE_GROUP"
                f" --cluster-name CLUSTER --name {name} --machine-names {machines}"
            )
            return f"{only} To remove {_them(names)}{_put_in(group)}:", command
        case _:
            return f"{only} Drain these, and delete their machines in the cloud.", ""


def _them(names: list[str]) -> str:
    """Which of them a command names: not more than fit into a message."""
    return "them" if len(names) <= _MOST_NAMED else f"the first {_MOST_NAMED} of {len(names)}"


def _to_zero(group: IdleGroup) -> str:
    node, name = group.nodes[0].node, group.group.name
    match group.group.maker:
        case Maker.EKS:
            cluster = node.labels.get(_EKS_CLUSTER, "CLUSTER")
            return (
                f"eksctl scale nodegroup{_region(node)} --cluster={cluster} --name={name}"
                " --nodes=0 --nodes-min=0"
            )
        case Maker.GKE:
            return (
                "gcloud container clusters resize CLUSTER --location LOCATION"
                f" --node-pool {name} --num-nodes 0"
            )
        case _:
            return (
                "az aks nodepool scale --resource-group RESOURCE_GROUP --cluster-name CLUSTER"
                f" --name {name} --node-count 0"
            )


def _put_in(group: IdleGroup) -> str:
    """What people have to put into the command, because nodes do not show it."""
    match group.group.maker:
        case Maker.EKS if _EKS_CLUSTER in group.nodes[0].node.labels:
            return ""
        case Maker.EKS:
            return " (put in the name of your CLUSTER)"
        case Maker.GKE:
            return " (put in your CLUSTER and its LOCATION)"
        case _:
            return " (put in your RESOURCE_GROUP and CLUSTER)"


def _region(node: Node) -> str:
    region = node.labels.get(_REGION, "")
    return f" --region {region}" if region else ""
