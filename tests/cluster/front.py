"""A door before the API server: connections are cut there, and answers lost, late or others."""

import asyncio
import contextlib
import json
import ssl
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from http import HTTPStatus
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import yaml

from playground.settings import write_yaml
from tests.cluster.control_plane import ControlPlane

Asked = tuple[str, str]  # a method, or WATCH or TRIAL, and the end of a path
T = TypeVar("T")
_PIECE = 65_536


def too_many() -> bytes:
    """The answer of an API server that is asked too much."""
    return _answer(429, {"reason": "TooManyRequests", "code": 429}, "Retry-After: 1")


def conflict() -> bytes:
    """The answer to who writes what somebody else writes at the same time."""
    said = "Operation cannot be fulfilled: the object has been modified; please apply your changes"
    status = {"kind": "Status", "apiVersion": "v1", "reason": "Conflict", "code": 409}
    return _answer(409, {**status, "message": f"{said} to the latest version and try again"})


def too_old() -> bytes:
    """The answer to a watch from a version that the API server has forgotten."""
    status = {"kind": "Status", "apiVersion": "v1", "reason": "Expired", "code": 410}
    return _answer(200, {"type": "ERROR", "object": status})


class Mishap(Enum):
    """What may become of a write: it is done or not, and the bot hears of it too late or never."""

    CONFLICT = auto()
    LATE = auto()  # not done
    LATE_BUT_DONE = auto()
    LOST = auto()  # not done
    LOST_BUT_DONE = auto()


_DONE = frozenset({Mishap.LATE_BUT_DONE, Mishap.LOST_BUT_DONE})
_LATE = frozenset({Mishap.LATE, Mishap.LATE_BUT_DONE})


@dataclass
class Mishaps:
    """What becomes of every write: one thing after another, until it is let through.

    `plan` tells that of a method, a resource and a name; `met` is what has become of which.
    """

    plan: Callable[[str, str, str], Sequence[Mishap]]
    met: defaultdict[tuple[str, str, str], list[Mishap]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def next(self, asked: Asked, body: bytes) -> Mishap | None:
        """What becomes of this write now."""
        method, path = asked
        if method not in {"POST", "PATCH", "DELETE"} or "/namespaces/" not in path:
            return None
        resource, *named = path.partition("/namespaces/")[2].split("/")[1:]
        name = named[0] if named else json.loads(body)["metadata"]["name"]
        met, plan = self.met[method, resource, name], self.plan(method, resource, name)
        if len(met) == len(plan):
            return None
        met.append(plan[len(met)])
        return met[-1]


@dataclass
class Faults:
    """What goes wrong at the door, each thing once, with the first request that fits.

    Of `lost` the request is done, but not answered. To those in `answered` the door gives an
    answer of its own. Before those in `preceded` are passed on something else happens. `writes`
    says more of those.
    """

    lost: set[Asked] = field(default_factory=set)
    answered: dict[Asked, bytes] = field(default_factory=dict)
    preceded: dict[Asked, Callable[[], object]] = field(default_factory=dict)
    writes: Mishaps | None = None

    @property
    def left(self) -> list[Asked]:
        """What nobody has asked for yet."""
        return sorted([*self.lost, *self.answered, *self.preceded])


class Front:
    """Passes requests on, one on each connection; `opened_front` begins and ends one."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._tls = ssl.create_default_context(cafile=plane.folder / "ca.crt")
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.faults = Faults()

    def cut(self) -> int:
        """Cuts all connections that are open now, watches among them; how many there were."""
        for writer in self._open:
            writer.transport.abort()
        return len(self._open)

    async def close(self) -> None:
        """Cuts everything and waits for its end."""
        self.cut()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Passes on one request and its answer."""
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Whoever is cut off, bot or API server, is cut off from the other as well.
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            async with self._held(writer):
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                asked = _asked(head[0])
                if before := _taken(self.faults.preceded, asked):
                    await asyncio.to_thread(before)
                if answer := _taken(self.faults.answered, asked):
                    writer.write(answer)
                    await writer.drain()
                else:
                    await self._pass_on(head, reader, writer)

    async def _pass_on(
        self, head: list[str], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        fields = [line for line in head[1:] if line and not line.lower().startswith("connection:")]
        lengths = (line.split(":")[1] for line in fields if line.lower().startswith("content-len"))
        body = await reader.readexactly(int(next(lengths, "0")))
        mishap = self.faults.writes.next(_asked(head[0]), body) if self.faults.writes else None
        if mishap and mishap not in _DONE:
            await _keep_from(mishap, reader, writer)
            return
        place = urlsplit(self._plane.url)
        answer, onward = await asyncio.open_connection(place.hostname, place.port, ssl=self._tls)
        lines = "\r\n".join([head[0], *fields, "Connection: close", "", ""])
        async with self._held(onward):
            onward.write(lines.encode("latin-1") + body)
            if mishap or self._is_lost(_asked(head[0])):
                await answer.read()
                await _keep_from(mishap or Mishap.LOST_BUT_DONE, reader, writer)
                return
            while piece := await answer.read(_PIECE):
                writer.write(piece)
                await writer.drain()

    @contextlib.asynccontextmanager
    async def _held(self, writer: asyncio.StreamWriter) -> AsyncIterator[None]:
        """A connection that `cut` cuts, closed at the end."""
        self._open.add(writer)
        try:
            yield
        finally:
            self._open.discard(writer)
            writer.close()

    def _is_lost(self, asked: Asked) -> bool:
        found = _fitting(self.faults.lost, asked)
        self.faults.lost.discard(found or asked)
        return found is not None


async def _keep_from(
    mishap: Mishap, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Leaves whoever asked with that; of what is late, until they have given up."""
    if mishap is Mishap.CONFLICT:
        writer.write(conflict())
        await writer.drain()
        return
    if mishap in _LATE:
        await reader.read()
    writer.transport.abort()


def _asked(line: str) -> Asked:
    method, target, _ = line.split(" ")
    path, _, query = target.partition("?")
    if "dryRun=All" in query:
        return "TRIAL", path
    return "WATCH" if "watch=1" in query else method, path


def _fitting(known: Iterable[Asked], asked: Asked) -> Asked | None:
    method, path = asked
    return next((each for each in known if each[0] == method and path.endswith(each[1])), None)


def _taken(known: dict[Asked, T], asked: Asked) -> T | None:
    found = _fitting(known, asked)
    return known.pop(found) if found else None


def _answer(status: int, body: dict[str, object], *fields: str) -> bytes:
    text = json.dumps(body) + "\n"
    head = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", "Content-Type: application/json"]
    head += [f"Content-Length: {len(text)}", "Connection: close", *fields, "", text]
    return "\r\n".join(head).encode()


@contextlib.asynccontextmanager
async def opened_front(plane: ControlPlane, kubeconfig: Path) -> AsyncIterator[Front]:
    """A door that serves, and the bot's kubeconfig by way of it."""
    front = Front(plane)
    server = await asyncio.start_server(front.serve, "127.0.0.1")
    port = server.sockets[0].getsockname()[1]
    _lead_by_way_of(port, plane, kubeconfig)
    try:
        yield front
    finally:
        server.close()
        await front.close()


def _lead_by_way_of(port: int, plane: ControlPlane, kubeconfig: Path) -> None:
    document = yaml.safe_load(plane.bot_kubeconfig.read_text("utf-8"))
    document["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{port}"}
    write_yaml(kubeconfig, document)
