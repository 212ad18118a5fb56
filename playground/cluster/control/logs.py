"""What a container has said, as the kubelet hands it out."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from playground.cluster.control.kubelet import Kubelet
from playground.cluster.control.lives import Run, restarts
from playground.cluster.control.training import Line, lines
from playground.cluster.objects.errors import (
    ApiError,
    Cause,
    bad_request,
    invalid,
    not_allowed,
    not_found,
    wrong,
)
from playground.cluster.objects.kinds import POD, Kind, Object
from playground.cluster.objects.store import Store

_WAITING = {
    "ErrImagePull": "image can't be pulled",
    "ImagePullBackOff": "trying and failing to pull image",
}
# A line that is longer stands in containerd's file as several records.
RECORD_BYTES = 16 * 1024
# A kubelet looks so often, and begins a new file where the newest has become larger than that.
ROTATED_EVERY = timedelta(seconds=10)
ROTATED_BYTES = 10 * 1024 * 1024
# What stands before each record: its time, its stream, and whether its line goes on.
_PREFIX_BYTES = 45
_OPTIONS = Kind("", "podlogoptions", "PodLogOptions")


@dataclass(frozen=True)
class Record:
    """One entry of a container's log file: a line, or a part of one that is too long."""

    at: datetime
    text: bytes


@dataclass(frozen=True)
class LogOptions:
    """Which part of a log is wanted."""

    container: str = ""
    previous: bool = False
    tail_lines: int | None = None
    limit_bytes: int | None = None
    since_seconds: int | None = None
    since_time: datetime | None = None
    timestamps: bool = False


def read_log(
    store: Store, kubelet: Kubelet, key: tuple[str, str], options: LogOptions, now: datetime
) -> bytes:
    """The wanted part of a container's log; 400 with the reason if it has not started."""
    if problem := _problem(key[1], options):
        raise problem
    pod = store.get(POD, *key)
    if pod is None:
        raise not_found(POD, key[1])
    container = _container(pod, options.container)
    if not pod["spec"].get("nodeName"):
        return b""
    run = _run(kubelet, pod, container, previous=options.previous)
    is_closed = run.ended is not None
    if run.program is not None:
        said = [(run.started, run.program.log.read_bytes())]
    else:
        ended = is_closed and run.own_end
        said = list(_as_bytes(lines(run.training, run.started, run.ended or now, ended=ended)))
    written = list(records(said, is_closed=is_closed))
    return _cut(newest_file(written, run.started, run.ended or now), options, now)


def records(said: Iterable[tuple[datetime, bytes]], *, is_closed: bool) -> Iterator[Record]:
    """What containerd writes to the log file of a container that has said this.

    The unfinished end of a line is written once it is too long, or the container has ended.
    """
    rest = b""
    for at, text in said:
        *whole, last = text.split(b"\n")
        for line in whole:
            yield from _parts(at, rest + line.removesuffix(b"\r"), b"\n")
            rest = b""
        rest += last
        cut = (max(len(rest) - 1, 0) // RECORD_BYTES) * RECORD_BYTES
        yield from _parts(at, rest[:cut])
        rest = rest[cut:]
    if rest and is_closed:
        yield Record(at, rest)


def newest_file(written: list[Record], started: datetime, until: datetime) -> list[Record]:
    """Those records that a kubelet still hands out: of the file that it began last."""
    first = size = 0
    look = started + ROTATED_EVERY
    for place, moment in enumerate([*(record.at for record in written), until]):
        if moment > look:
            if size >= ROTATED_BYTES:
                first, size = place, 0
            look += ROTATED_EVERY * (1 + (moment - look) // ROTATED_EVERY)
        if place < len(written):
            size += _PREFIX_BYTES + len(written[place].text)
    return written[first:]


def _parts(at: datetime, line: bytes, end: bytes = b"") -> Iterator[Record]:
    starts = range(0, len(line), RECORD_BYTES) if line else (0,) if end else ()
    for start in starts:
        part = line[start : start + RECORD_BYTES]
        yield Record(at, part + end if start + RECORD_BYTES >= len(line) else part)


def _as_bytes(said: Iterable[Line]) -> Iterator[tuple[datetime, bytes]]:
    """Lines as they are written; one that ends with a carriage return goes on with the next."""
    for at, text in said:
        yield at, text.encode() if text.endswith("\r") else f"{text}\n".encode()


def _problem(name: str, options: LogOptions) -> ApiError | None:
    """What the API server finds wrong with the options."""
    causes: list[Cause] = []
    if options.tail_lines is not None and options.tail_lines < 0:
        why = "must be greater than or equal to 0"
        causes.append(wrong("tailLines", options.tail_lines, why))
    if options.limit_bytes is not None and options.limit_bytes < 1:
        causes.append(wrong("limitBytes", options.limit_bytes, "must be greater than 0"))
    if options.since_seconds is not None and options.since_time is not None:
        words = "at most one of `sinceTime` or `sinceSeconds` may be specified"
        causes.append(not_allowed("", words))
    elif options.since_seconds is not None and options.since_seconds < 1:
        causes.append(wrong("sinceSeconds", options.since_seconds, "must be greater than 0"))
    return invalid(_OPTIONS, name, causes) if causes else None


def _container(pod: Object, name: str) -> str:
    names = [container["name"] for container in pod["spec"]["containers"]]
    first = [container["name"] for container in pod["spec"].get("initContainers") or ()]
    if not name and len(names) > 1:
        raise bad_request(
            f"a container name must be specified for pod {pod['metadata']['name']}, "
            f"choose one of: [{' '.join([*first, *names])}]"
        )
    if name and name not in (*names, *first):
        raise bad_request(f"container {name} is not valid for pod {pod['metadata']['name']}")
    return name or names[0]


def _run(kubelet: Kubelet, pod: Object, container: str, *, previous: bool) -> Run:
    life = kubelet.lives.get(pod["metadata"]["uid"])
    runs = life.every.get(container, []) if life else []
    place = f'container "{container}" in pod "{pod["metadata"]["name"]}"'
    if previous:
        # While a container waits to be started again, its last end is the previous one.
        before = [run for run in runs if run.ended is not None]
        if runs and runs[-1].ended is not None and not restarts(pod, runs[-1]):
            before.pop()
        if not before:
            raise bad_request(f"previous terminated {place} not found")
        return before[-1]
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


def _cut(said: list[Record], options: LogOptions, now: datetime) -> bytes:
    """Some of the records; bytes are counted from the first of them on."""
    if options.tail_lines is not None:
        said = said[-options.tail_lines :] if options.tail_lines else []
    since = options.since_time
    if options.since_seconds is not None:
        since = now - timedelta(seconds=options.since_seconds)
    shown, begins = [], True
    for record in said:
        if since is not None and record.at < since:
            continue
        stamp = f"{record.at:%Y-%m-%dT%H:%M:%S.%f}000Z " if options.timestamps and begins else ""
        shown.append(stamp.encode() + record.text)
        begins = record.text.endswith(b"\n")
    return b"".join(shown)[: options.limit_bytes]
