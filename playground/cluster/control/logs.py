"""What a container has said, as the kubelet hands it out."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from playground.cluster.control.kubelet import Kubelet
from playground.cluster.control.lives import Run
from playground.cluster.control.training import Line, lines
from playground.cluster.objects.errors import bad_request, not_found
from playground.cluster.objects.kinds import POD, Object
from playground.cluster.objects.store import Store

_WAITING = {
    "ErrImagePull": "image can't be pulled",
    "ImagePullBackOff": "trying and failing to pull image",
}


@dataclass(frozen=True)
class LogOptions:
    """Which part of a log is wanted."""

    container: str = ""
    previous: bool = False
    tail_lines: int | None = None
    limit_bytes: int | None = None
    since_seconds: int | None = None
    timestamps: bool = False


def read_log(
    store: Store, kubelet: Kubelet, key: tuple[str, str], options: LogOptions, now: datetime
) -> bytes:
    """The wanted part of a container's log; 400 with the reason if it has not started."""
    pod = store.get(POD, *key)
    if pod is None:
        raise not_found(POD, key[1])
    container = _container(pod, options.container)
    if not pod["spec"].get("nodeName"):
        return b""
    run = _run(kubelet, pod, container, previous=options.previous)
    until = run.ended or now
    if run.program is not None:
        text = run.program.log.read_text("utf-8", errors="replace")
        return _cut([(run.started, line) for line in text.splitlines()], options, now)
    said = lines(run.training, run.started, until, ended=run.ended is not None and run.own_end)
    return _cut(said, options, now)


def _container(pod: Object, name: str) -> str:
    names = [container["name"] for container in pod["spec"]["containers"]]
    first = [container["name"] for container in pod["spec"].get("initContainers") or ()]
    if not name and len(names) > 1:
        raise bad_request(
            f"a container name must be specified for pod {pod['metadata']['name']}, "
            f"choose one of: [{' '.join(names)}]"
        )
    if name and name not in (*names, *first):
        raise bad_request(f"container {name} is not valid for pod {pod['metadata']['name']}")
    return name or names[0]


def _run(kubelet: Kubelet, pod: Object, container: str, *, previous: bool) -> Run:
    life = kubelet.lives.get(pod["metadata"]["uid"])
    runs = life.every.get(container, []) if life else []
    place = f'container "{container}" in pod "{pod["metadata"]["name"]}"'
    if previous:
        if len(runs) < 2:  # noqa: PLR2004 -- the one before the last
            raise bad_request(f"previous terminated {place} not found")
        return runs[-2]
    if not runs:
        raise bad_request(f"{place} is waiting to start: {_reason(pod, container)}")
    return runs[-1]


def _reason(pod: Object, container: str) -> str:
    status = pod["status"]
    rows: list[dict[str, Any]] = [
        *status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())
    ]  # fmt: skip
    row = next((row for row in rows if row["name"] == container), None)
    reason: str = (row or {}).get("state", {}).get("waiting", {}).get("reason", "ContainerCreating")
    return _WAITING.get(reason, reason)


def _cut(said: list[Line], options: LogOptions, now: datetime) -> bytes:
    if options.since_seconds is not None:
        since = now - timedelta(seconds=options.since_seconds)
        said = [line for line in said if line[0] >= since]
    if options.tail_lines is not None:
        said = said[-options.tail_lines :] if options.tail_lines else []
    shown = [
        f"{at:%Y-%m-%dT%H:%M:%S.%f}000Z {text}" if options.timestamps else text for at, text in said
    ]
    whole = "".join(f"{line}\n" for line in shown).encode()
    return whole[: options.limit_bytes] if options.limit_bytes is not None else whole
