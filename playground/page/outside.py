"""The world outside Slack as the page's panel shows it."""

from collections.abc import Iterator
from typing import Any

from playground.arm.estate import GIB, Estate
from playground.cluster.cluster import GPU, Cluster
from playground.cluster.objects.kinds import Object
from playground.page.stage import Stage
from playground.slack.shapes import Json
from playground.slack.workspace import Workspace
from playground.world import World

_CALLS, _PODS, _REFUSALS, _STEPS = 15, 40, 5, 10
_ENDED = {"Succeeded", "Failed"}


def outside(stage: Stage) -> Json:
    """All of it; without a world only why there is none."""
    told: Json = {"trouble": stage.trouble, "is_starting": stage.is_starting}
    return told if stage.world is None else {**told, **_world(stage.world)}


def _world(world: World) -> Json:
    calls = world.ledger.requests[-_CALLS:]
    refused = world.slack.refusals[-_REFUSALS:]
    estate = world.azure.estate if world.azure is not None else None
    return {
        "bots": [
            {"state": bot.state, "is_running": bot.is_running, "is_ready": bot.is_ready}
            for bot in world.bots
        ],
        "slack": {
            "is_down": world.slack.faults.down is not None,
            "is_connected": bool(world.slack.sockets.open),
        },
        "clusters": [_cluster(name, each) for name, each in world.clusters.items()],
        "pools": list(_pools(estate)) if estate is not None else [],
        "steps": list(_steps(world.slack)),
        "calls": [
            {"number": r.number, "service": r.service, "name": r.name, "about": r.about[:160]}
            for r in reversed(calls)
        ],
        "refused": [
            *(f"{method}: {error}" for method, error in reversed(refused)),
            *sorted(set(world.slack.violations)),
        ],
    }


def _steps(slack: Workspace) -> Iterator[Json]:
    """The last runs of the app's steps in workflows, and how each ended."""
    for each in reversed(list(slack.executions.values())[-_STEPS:]):
        function = slack.app.functions.get(each.callback_id, {})
        yield {
            "id": each.id,
            "title": function.get("title", each.callback_id),
            "state": "runs" if each.is_running else "failed" if each.error else "completed",
            "inputs": _titled(each.inputs, function.get("input_parameters", {})),
            "outputs": _titled(each.outputs, function.get("output_parameters", {})),
            "error": each.error,
        }


def _titled(values: Json, parameters: Json) -> list[Json]:
    titles = {name: declared["title"] for name, declared in parameters.items()}
    return [
        {"title": titles.get(name, name), "value": f"{value}"} for name, value in values.items()
    ]


def _cluster(name: str, cluster: Cluster) -> Json:
    pods = cluster.list("pods")
    return {
        "name": name,
        "is_down": cluster.is_down,
        "nodes": [_node(node, pods) for node in cluster.list("nodes")],
        "queues": list(_queues(cluster)),
        "pods": [_pod(pod) for pod in pods[-_PODS:]],
        "volumes": [_volume(claim) for claim in cluster.list("persistentvolumeclaims")],
    }


def _node(node: Object, pods: list[Object]) -> Json:
    name = node["metadata"]["name"]
    here = [pod for pod in pods if pod["spec"].get("nodeName") == name]
    conditions = node["status"]["conditions"]
    labels = node["metadata"].get("labels", {})
    capacity = node["status"]["capacity"]
    return {
        "name": name,
        "product": labels.get("nvidia.com/gpu.product", ""),
        "gpus": int(capacity.get(GPU, 0)),
        "used": sum(_gpus(pod) for pod in here if pod["status"].get("phase") not in _ENDED),
        "is_ready": any(c["type"] == "Ready" and c["status"] == "True" for c in conditions),
    }


def _gpus(pod: Object) -> int:
    requests = (each.get("resources", {}).get("requests", {}) for each in pod["spec"]["containers"])
    return sum(int(each.get(GPU, 0)) for each in requests)


def _pod(pod: Object) -> Json:
    return {
        "namespace": pod["metadata"]["namespace"],
        "name": pod["metadata"]["name"],
        "phase": pod["status"].get("phase", "Pending"),
        "node": pod["spec"].get("nodeName", ""),
        "gpus": _gpus(pod),
    }


def _volume(claim: Object) -> Json:
    return {
        "namespace": claim["metadata"]["namespace"],
        "name": claim["metadata"]["name"],
        "size": claim["spec"]["resources"]["requests"]["storage"],
        "class": claim["spec"].get("storageClassName", ""),
        "phase": claim.get("status", {}).get("phase", "Pending"),
    }


def _queues(cluster: Cluster) -> Iterator[Json]:
    """Quota by queue and flavor, of GPUs alone."""
    if cluster.engine == "kai":
        yield from map(_kai_queue, cluster.list("queues"))
    elif cluster.engine == "kueue":
        for queue in cluster.list("clusterqueues"):
            yield from _kueue_queue(queue)


def _kueue_queue(queue: Object) -> Iterator[Json]:
    spec, status = queue["spec"], queue.get("status", {})
    used = {each["name"]: each["resources"] for each in status.get("flavorsReservation", ())}
    for group in spec.get("resourceGroups", ()):
        for flavor in group["flavors"]:
            quota = _gpu(flavor["resources"])
            if quota is not None:
                reserved: Any = _gpu(used.get(flavor["name"], ())) or {}
                yield {
                    "name": queue["metadata"]["name"],
                    "flavor": flavor["name"],
                    "resource": quota["name"],
                    "nominal": quota["nominalQuota"],
                    "used": reserved.get("total", "0"),
                    "borrowed": reserved.get("borrowed", "0"),
                    "pending": status.get("pendingWorkloads", 0),
                }


def _gpu(resources: Any) -> Json | None:
    """The entry of a list of resources that is about GPUs."""
    found = (dict(each) for each in resources if "gpu" in each["name"])
    return next(found, None)


def _kai_queue(queue: Object) -> Json:
    gpu, status = queue["spec"].get("resources", {}).get("gpu", {}), queue.get("status", {})
    quota, allocated = float(gpu.get("quota", 0)), float(status.get("allocated", {}).get(GPU, 0))
    return {
        "name": queue["metadata"]["name"],
        "flavor": "",
        "resource": GPU,
        "nominal": f"{quota:g}",
        "used": f"{allocated:g}",
        "borrowed": f"{max(allocated - quota, 0):g}" if quota >= 0 else "0",
        "pending": 0,
    }


def _pools(estate: Estate) -> Iterator[Json]:
    for pool in estate.pools:
        where = f" ({pool.account.subscription})" if len(estate.subscriptions) > 1 else ""
        yield {
            "name": f"{pool.name}{where}",
            "level": pool.level,
            "gib": pool.size // GIB,
            "throughput": pool.throughput,
            "volumes": [
                {"name": each.name, "gib": each.quota // GIB, "throughput": each.throughput}
                for each in estate.volumes_of(pool)
            ],
        }
