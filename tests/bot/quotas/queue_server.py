"""ClusterQueues behind a real HTTP server that can misbehave, and other objects of Kueue's."""

import socket
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bot.cluster.resources import WORKLOADS, Resource
from bot.database.database import Session
from bot.quotas.engines.admission import Item
from bot.quotas.engines.quota import ANNOTATION
from playground.cluster.kueue.queue_rules import queue_causes
from playground.cluster.objects.errors import ApiError, denied
from playground.cluster.objects.patches import json_patch
from tests.bot.cluster.api.api_server import ApiServer, Asked, Wire, status

Object = dict[str, Any]

GPUS = "nvidia.com/gpu"
QUEUES = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"


@dataclass
class Fault:
    """What goes wrong with the next change of a queue."""

    lose_answer: int = 0
    refuse: int = 0
    meddle: int = 0


@dataclass
class Kueue:
    """ClusterQueues behind HTTP; a change tells the view as a watch does."""

    server: ApiServer
    queues: dict[str, Object] = field(default_factory=dict)
    fault: Fault = field(default_factory=Fault)
    patches: list[str] = field(default_factory=list)
    changed: Callable[[], None] = lambda: None
    versions: int = 100
    others: dict[Resource[Any], list[Object]] = field(default_factory=dict)

    def add(self, name: str, nominal: object, **more: object) -> None:
        quota = {"name": GPUS, "nominalQuota": nominal, **more}
        self.queues[name] = {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "ClusterQueue",
            "metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": "1"},
            "spec": {
                "cohortName": "gpus",
                "preemption": {"reclaimWithinCohort": "Any"},
                "resourceGroups": [
                    {
                        "coveredResources": ["cpu", GPUS],
                        "flavors": [
                            {
                                "name": "h100",
                                "resources": [{"name": "cpu", "nominalQuota": "64"}, quota],
                            }
                        ],
                    }
                ],
            },
            "status": {},
        }
        self.use(name, 0)
        self.server.on("GET", f"{QUEUES}/{name}", self._get)
        self.server.on("PATCH", f"{QUEUES}/{name}", self._patch)

    def use(self, name: str, total: int, borrowed: int = 0, pending: int = 0) -> None:
        resources = [{"name": GPUS, "total": str(total), "borrowed": str(borrowed)}]
        usage = [{"name": "h100", "resources": resources}]
        self.queues[name]["status"] = {
            "flavorsUsage": usage,
            "flavorsReservation": usage,
            "pendingWorkloads": pending,
            "conditions": [{"type": "Active", "status": "True"}],
        }

    def value(self, name: str, of: str = "nominalQuota") -> object:
        return self._quota(name)[of]

    def set(self, name: str, value: object, of: str = "nominalQuota") -> None:
        """Somebody else's hand."""
        self._quota(name)[of] = value
        self._touch(name)

    def copy(self, name: str) -> Object:
        return deepcopy(self.queues[name])

    def put(self, name: str, queue: Object) -> None:
        self.queues[name] = queue
        self._touch(name)

    def hold(self, *workloads: Object) -> None:
        """Has workloads exist."""
        self.others[WORKLOADS] = list(workloads)
        self.changed()

    def annotated(self, name: str) -> str | None:
        text: str | None = self.queues[name]["metadata"].get("annotations", {}).get(ANNOTATION)
        return text

    def _quota(self, name: str) -> Object:
        flavor = self.queues[name]["spec"]["resourceGroups"][0]["flavors"][0]
        quota: Object = flavor["resources"][1]
        return quota

    def _touch(self, name: str) -> None:
        self.versions += 1
        self.queues[name]["metadata"]["resourceVersion"] = str(self.versions)
        self.changed()

    def _get(self, asked: Asked, wire: Wire) -> None:
        _hurry(wire)
        name = asked.path.rsplit("/", 1)[1]
        if name in self.queues:
            wire.send(200, self.queues[name])
        else:
            wire.send(404, status(404, "NotFound", f'clusterqueues "{name}" not found', name))

    def _patch(self, asked: Asked, wire: Wire) -> None:
        _hurry(wire)
        name = asked.path.rsplit("/", 1)[1]
        if self.fault.refuse:
            self.fault.refuse -= 1
            wire.send(503, status(503, "ServiceUnavailable", "try later"))
            return
        if self.fault.meddle:
            self.fault.meddle -= 1
            self.queues[name]["metadata"].setdefault("annotations", {})["theirs"] = "1"
            self._touch(name)
        try:
            changed = json_patch(deepcopy(self.queues[name]), asked.json)
        except ApiError as error:
            wire.send(422, status(422, "Invalid", str(error), name))
            return
        if causes := queue_causes(changed):
            refused = denied("vclusterqueue.kb.io", causes)
            wire.send(refused.code, status(refused.code, refused.reason, refused.message, name))
            return
        self.queues[name] = changed
        self.patches.append(f"{name} {self.value(name)}")
        self._touch(name)
        if self.fault.lose_answer:
            self.fault.lose_answer -= 1
            wire.cut()
        else:
            wire.send(200, self.queues[name])


def _hurry(wire: Wire) -> None:
    """Without this every answer waits 40 ms for an acknowledgement of its headers."""
    wire._handler.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


GROUP: Object = {
    "kind": "APIGroup",
    "apiVersion": "v1",
    "name": "kueue.x-k8s.io",
    "versions": [{"groupVersion": "kueue.x-k8s.io/v1beta2", "version": "v1beta2"}],
}


def local_queue(name: str) -> Object:
    return {"metadata": {"name": name, "namespace": name}, "spec": {"clusterQueue": name}}


def node(name: str, gpus: int = 8) -> Object:
    ready = {"type": "Ready", "status": "True"}
    status = {"allocatable": {GPUS: str(gpus)}, "conditions": [ready]}
    return {"metadata": {"name": name}, "status": status}


def workload(name: str, gpus: int, *, admitted: str = "", queue: str = "team-a") -> Object:
    """A workload of a team; `admitted` says since when it holds quota."""
    requests = {"requests": {GPUS: str(gpus)}}
    template = {"spec": {"containers": [{"name": "main", "resources": requests}]}}
    found: Object = {
        "metadata": {
            "name": f"job-{name}",
            "namespace": queue,
            "creationTimestamp": "2026-11-21T11:00:00Z",
            "ownerReferences": [{"kind": "Job", "name": name, "uid": f"uid-{name}"}],
        },
        "spec": {
            "queueName": queue,
            "podSets": [{"name": "main", "count": 1, "template": template}],
        },
        "status": {},
    }
    if admitted:
        assignment = {"name": "main", "flavors": {GPUS: "h100"}, "resourceUsage": {GPUS: str(gpus)}}
        condition = {"type": "QuotaReserved", "status": "True", "lastTransitionTime": admitted}
        found["status"] = {
            "conditions": [condition],
            "admission": {"clusterQueue": queue, "podSetAssignments": [assignment]},
        }
    return found


@dataclass
class Stopped:
    """Remembers what it was told to stop."""

    names: list[str] = field(default_factory=list)

    def stop_workloads(
        self, session: Session, items: Sequence[Item], why: str, now: datetime
    ) -> None:
        del session, now
        self.names += [f"{each.own_name}: {why}" for each in items]
