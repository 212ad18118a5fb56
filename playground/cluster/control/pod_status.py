"""What the kubelet reports about a pod."""

from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any

from playground.cluster.objects.conditions import set_condition
from playground.cluster.objects.kinds import Object
from playground.cluster.objects.operations import stamp

State = dict[str, Any]


@dataclass(frozen=True)
class Shown:
    """What is reported about one container."""

    state: State
    last: State = field(default_factory=dict)
    restarts: int = 0


def waiting(reason: str, message: str = "") -> Shown:
    """A container that does not run yet, and why."""
    row = {"reason": reason, "message": message} if message else {"reason": reason}
    return Shown({"waiting": row})


def running(since: datetime) -> State:
    """A container that runs."""
    return {"running": {"startedAt": stamp(since)}}


def terminated(code: int, reason: str, started: datetime, ended: datetime) -> State:
    """A container that has ended, and how."""
    return {
        "terminated": {
            "exitCode": code,
            "reason": reason,
            "startedAt": stamp(started),
            "finishedAt": stamp(ended),
        }
    }


def beginning(pod: Object) -> Shown:
    """A container of the pod before anything is known of it."""
    return waiting("PodInitializing" if pod["spec"].get("initContainers") else "ContainerCreating")


def beginnings(pod: Object) -> dict[str, Shown]:
    """Every container of the pod before anything is known of it, by name."""
    return dict.fromkeys((each["name"] for each in containers_of(pod)), beginning(pod))


def containers_of(pod: Object) -> list[Object]:
    """The containers of a pod, those that come first before the others."""
    return [*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"]]


def report(pod: Object, states: dict[str, Shown], phase: str, now: datetime) -> None:
    """Writes states of containers and what follows from them into a pod's status, in place.

    Of an init container that has no state nothing is known yet.
    """
    status, known = pod["status"], beginnings(pod) | states
    first, rows = (
        [_container_row(pod, each, known[each["name"]]) for each in pod["spec"].get(part) or ()]
        for part in ("initContainers", "containers")
    )
    rows.sort(key=lambda row: str(row["name"]))  # as a kubelet does
    for row in first:
        row["ready"] = row["state"].get("terminated", {}).get("exitCode") == 0
    status |= {"phase": phase, "containerStatuses": rows}
    if first:
        status["initContainerStatuses"] = first
    status.setdefault("hostIP", host_address(pod["spec"]["nodeName"]))
    status.setdefault("hostIPs", [{"ip": status["hostIP"]}])
    status.setdefault("startTime", stamp(now))
    if any("running" in row["state"] for row in (*first, *rows)):
        status.setdefault("podIP", _address(pod))
        status.setdefault("podIPs", [{"ip": status["podIP"]}])
    _conditions(pod, (first, rows), phase, now)


def host_address(node: str) -> str:
    """The address of a node, the same in every run of a story."""
    number = int(sha256(node.encode()).hexdigest()[:4], 16)
    return f"10.0.{number // 250 % 250}.{number % 250 + 2}"


def _address(pod: Object) -> str:
    if pod["spec"].get("hostNetwork"):
        return host_address(pod["spec"]["nodeName"])
    number = int(sha256(pod["metadata"]["uid"].encode()).hexdigest()[:8], 16)
    return f"10.244.{number // 250 % 250}.{number % 250 + 2}"


def _container_row(pod: Object, container: dict[str, Any], shown: Shown) -> dict[str, Any]:
    state, restarts = dict(shown.state), shown.restarts
    identity = sha256(f"{pod['metadata']['uid']}{container['name']}{restarts}".encode()).hexdigest()
    row = {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": "running" in state,
        "started": "running" in state,
        "restartCount": restarts,
        "lastState": shown.last,
        "state": state,
    }
    if "waiting" not in state:
        digest = sha256(container["image"].encode()).hexdigest()
        row["imageID"] = f"{container['image'].partition(':')[0]}@sha256:{digest}"
        row["containerID"] = f"containerd://{identity}"
    if "terminated" in state:
        row["state"] = {"terminated": {**state["terminated"], "containerID": row["containerID"]}}
    return row


def _conditions(
    pod: Object,
    both: tuple[list[dict[str, Any]], list[dict[str, Any]]],
    phase: str,
    now: datetime,
) -> None:
    first, rows = both
    unready = [row["name"] for row in rows if not row["ready"]]
    words = f"containers with unready status: [{' '.join(unready)}]"
    why = ("ContainersNotReady", words) if unready else ("", "")
    over = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}.get(phase)
    if over:
        why = (over, "")
    started = all("waiting" not in row["state"] for row in rows) or any(
        "waiting" not in row["state"] for row in first
    )
    set_condition(pod, "PodReadyToStartContainers", status=started, why=("", ""), now=now)
    undone = [row["name"] for row in first if not row["ready"]]
    words = f"containers with incomplete status: [{' '.join(undone)}]"
    begun = ("ContainersNotInitialized", words) if undone else ("", "")
    begun = (over, "") if over == "PodCompleted" else begun
    set_condition(pod, "Initialized", status=not undone, why=begun, now=now)
    for kind in ("Ready", "ContainersReady"):
        set_condition(pod, kind, status=not unready, why=why, now=now)
    for row in pod["status"]["conditions"]:
        row.setdefault("lastProbeTime", None)
        for name in ("reason", "message"):
            if row.get(name) == "":
                del row[name]
