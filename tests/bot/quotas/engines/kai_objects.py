"""KAI's objects as a test needs them, whole as KAI writes them, and views that show them."""

from typing import Any

import msgspec

from bot.cluster.api.answers import decode
from bot.cluster.resources import KAI_QUEUES, NODES, POD_GROUPS, SYSTEM_PRIORITIES, Resource
from bot.cluster.view import View
from bot.quotas.engines.kai.queues import KaiQueues
from tests.schemas import fits_custom

Object = dict[str, Any]
GPUS = "nvidia.com/gpu"
NO_LIMIT: Object = {"quota": -1, "limit": -1, "overQuotaWeight": 1}


def queue(name: str, gpu: Object | None, used: object = None, **more: Any) -> Object:
    """A team's Queue; `used` is what it has allocated, None while KAI has not looked at it."""
    resources = {"cpu": NO_LIMIT, "memory": NO_LIMIT} | ({"gpu": gpu} if gpu else {})
    found: Object = {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": name, "resourceVersion": "7", "uid": f"uid-{name}"},
        "spec": {"parentQueue": more.get("parent", "research"), "resources": resources},
    }
    if "pool" in more:
        found["metadata"]["labels"] = {"kai.scheduler/node-pool": more["pool"]}
    if used is not None:
        found["status"] = {"allocated": {GPUS: str(used)}, "requested": {GPUS: str(used)}}
    return found


def parent(limit: int = -1, used: int = 0) -> Object:
    """The Queue above those of teams."""
    found = queue("research", {"quota": -1, "limit": limit}, used, parent="")
    del found["spec"]["parentQueue"]
    return found


def node(name: str, gpus: int = 8, pool: str = "") -> Object:
    ready = {"type": "Ready", "status": "True"}
    labels = {"kai.scheduler/node-pool": pool} if pool else {}
    return {
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": {GPUS: str(gpus)}, "conditions": [ready]},
    }


def pod_group(name: str, gpus: object, **more: Any) -> Object:
    """A PodGroup of a Job; `reason` says that it waits and why, `started` and `evicted` when."""
    stamps = {"last-start-timestamp": "started", "last-eviction-timestamp": "evicted"}
    amounts = {GPUS: str(gpus)}
    resources = {"requested": amounts} | ({"allocated": amounts} if more.get("placed") else {})
    found: Object = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {
            "name": f"pg-{name}-uid-{name}",
            "namespace": "team-a",
            "uid": f"uid-pg-{name}",
            "creationTimestamp": more.get("created", "2026-11-21T11:00:00Z"),
            "annotations": {
                f"kai.scheduler/{key}": more[word] for key, word in stamps.items() if word in more
            },
            "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": f"uid-{name}"}
            ],
        },
        "spec": {
            "queue": more.get("queue", "team-a"),
            "minMember": 1,
            "priorityClassName": more.get("priority", "train"),
        },
        "status": {"resourcesStatus": resources if gpus else {}},
    }
    if "reason" in more:
        found["status"]["schedulingConditions"] = [unplaced(*more["reason"])]
    return found


def unplaced(reason: str, message: str) -> Object:
    """What KAI says of a PodGroup whose pods it cannot place."""
    return {
        "type": "UnschedulableOnNodePool",
        "status": "True",
        "reason": "Unschedulable",
        "message": message,
        "nodePool": "default",
        "lastTransitionTime": "2026-11-21T11:30:00Z",
        "transitionID": "1",
        "reasons": [{"reason": reason, "message": message}],
    }


def priority(name: str, value: int) -> Object:
    return {"metadata": {"name": name}, "value": value}


def seen(*objects: Object, nodes: tuple[Object, ...] = ()) -> KaiQueues:
    """KAI's queues as a view shows these objects."""
    kinds: dict[str, Resource[Any]] = {"Queue": KAI_QUEUES, "PodGroup": POD_GROUPS}
    shown: dict[Resource[Any], list[Object]] = {each: [] for each in kinds.values()}
    for each in objects:
        shown[kinds[each["kind"]]].append(each)
    shown[NODES] = list(nodes)
    shown[SYSTEM_PRIORITIES] = [priority("train", 50), priority("build", 100)]
    view = View(shown)
    for resource, bodies in shown.items():
        store = view.store(resource)
        store.replace(
            [decode(msgspec.json.encode(each), resource.type, "Looking") for each in bodies]
        )
        store.prove()
    return KaiQueues(view, GPUS)


def fits_its_definition(body: Object) -> None:
    """Raises where KAI's own definition does not let an object be so."""
    plural = {"Queue": "queues", "PodGroup": "podgroups"}[body["kind"]]
    version = body["apiVersion"].rpartition("/")[2]
    fits_custom(body, f"{plural}.scheduling.run.ai", version)
