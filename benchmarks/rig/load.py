"""The load generator, a process of its own that reads an Order: `python -m benchmarks.rig.load`.

Raw keep-alive connections and nothing else, so that it costs far less than what it measures.
"""

import asyncio
import contextlib
import hashlib
import hmac
import json
import selectors
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import urlencode

from typing_extensions import override

from benchmarks.rig.processor import cpu_seconds

_HEAD_END = b"\r\n\r\n"
_LAST_CHUNK = b"0\r\n\r\n"
_EMPTY_CHUNK = _HEAD_END + _LAST_CHUNK
_TAKEN = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nok"
_FOLLOWED_SECONDS = 10.0
_OPEN_LOOP_CONNECTIONS = 64
_GIVE_UP_SECONDS = 60.0
_SHOWN = 3
_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Order:
    """What to send and how.

    `text` may have `{n}`, which counts from `first`. With `rate` requests leave at their time
    whatever became of earlier ones (an open loop); without it each of `connections` sends its
    next one once it was answered (a closed loop). A good answer is a 200 with `expects` in it.
    What follows an empty answer is taken here, as Slack takes it. The processor time of the process
    `pid`, which answers, is measured until then.
    """

    port: int
    pid: int
    secret: str
    person: str
    channel: str
    command: str
    text: str
    expects: str
    seconds: float
    first: int = 0
    rate: float = 0.0
    connections: int = 1


@dataclass
class Outcome:
    """What came of an order; latencies in an open loop count from the intended moment.

    `followed_ms` are those until what follows an empty answer has come.
    """

    latencies_ms: list[float] = field(default_factory=list)
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    bad: int = 0
    bad_answers: list[str] = field(default_factory=list)
    empty: int = 0
    followed: int = 0
    followed_ms: list[float] = field(default_factory=list)

    @property
    def lost(self) -> int:
        """How many empty answers were not followed by another one."""
        return self.empty - self.followed


class Requests:
    """Signed slash commands, each with a trigger and a number of its own."""

    def __init__(self, order: Order, followed_at: int) -> None:
        self._order = order
        self._next = order.first
        self._followed_at = followed_at
        self.since: dict[int, float] = {}

    def next(self, since: float) -> bytes:
        """The bytes of another request, whose latency counts from `since`."""
        self.since[self._next] = since
        body = self._body(self._next)
        self._next += 1
        moment = str(int(time.time()))
        signed = f"v0:{moment}:{body}".encode()
        digest = hmac.new(self._order.secret.encode(), signed, hashlib.sha256).hexdigest()
        head = (
            f"POST /slack/events HTTP/1.1\r\nhost: 127.0.0.1:{self._order.port}\r\n"
            f"content-type: {_FORM}\r\ncontent-length: {len(body)}\r\n"
            f"x-slack-request-timestamp: {moment}\r\nx-slack-signature: v0={digest}\r\n\r\n"
        )
        return f"{head}{body}".encode()

    def _body(self, number: int) -> str:
        order = self._order
        return urlencode(
            {
                "token": "verification-token",
                "team_id": "T0QM",
                "team_domain": "acme",
                "channel_id": order.channel,
                "channel_name": "team",
                "user_id": order.person,
                "user_name": "somebody",
                "command": order.command,
                "text": order.text.format(n=number),
                "api_app_id": "A0QM",
                "is_enterprise_install": "false",
                "response_url": f"http://127.0.0.1:{self._followed_at}/commands/{number}",
                "trigger_id": f"{number}.{order.port}.{order.first}",
            }
        )


class Connection(asyncio.Protocol):
    """One keep-alive connection with at most one request under way."""

    def __init__(self, answered: "Callable[[Connection, float, bytes], None]") -> None:
        self._answered = answered
        self._received = b""
        self._since = 0.0
        self._transport: asyncio.Transport | None = None

    def send(self, request: bytes, since: float) -> None:
        """Sends a request whose latency counts from `since`."""
        if self._transport is None:
            raise ConnectionError("not connected")
        self._since = since
        self._received = b""
        self._transport.write(request)

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self._transport = transport

    @override
    def data_received(self, data: bytes) -> None:
        self._received += data
        if _is_whole(self._received):
            self._answered(self, self._since, self._received)

    def close(self) -> None:
        """Ends the connection."""
        if self._transport is not None:
            self._transport.close()


class Following(asyncio.Protocol):
    """One connection on which answers come that follow an empty one; each is taken."""

    def __init__(self, taken: Callable[[int], None]) -> None:
        self._taken = taken
        self._received = b""
        self._transport: asyncio.Transport | None = None

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self._transport = transport

    @override
    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._transport is not None and _is_whole(self._received):
            path = self._received.split(b" ", 2)[1]
            self._received = b""
            self._transport.write(_TAKEN)
            self._taken(int(path.rpartition(b"/")[2]))


class Run:
    """One order being carried out."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._outcome = Outcome()
        self._idle: deque[Connection] = deque()
        self._waiting: deque[float] = deque()
        self._left = 0
        self._until = 0.0
        self._ended = asyncio.Event()
        self._all_followed = asyncio.Event()

    async def __call__(self) -> Outcome:
        """Carries it out."""
        loop, before = asyncio.get_running_loop(), cpu_seconds(self._order.pid)
        server = await loop.create_server(lambda: Following(self._followed), "127.0.0.1", 0)
        self._requests = Requests(self._order, server.sockets[0].getsockname()[1])
        async with server:
            await self._send_all()
            await self._await_followed()
        self._outcome.cpu_seconds = cpu_seconds(self._order.pid) - before
        return self._outcome

    async def _send_all(self) -> None:
        order = self._order
        loop = asyncio.get_running_loop()
        count = _OPEN_LOOP_CONNECTIONS if order.rate else order.connections
        connections = [await self._connect() for _ in range(count)]
        begun = time.perf_counter()
        self._until = begun + order.seconds
        if order.rate:
            self._idle.extend(connections)
            self._left = round(order.rate * order.seconds)
            for number in range(self._left):
                delay = number / order.rate
                loop.call_later(delay, self._fire, begun + delay)
        else:
            self._left = count
            for connection in connections:
                now = time.perf_counter()
                connection.send(self._requests.next(now), now)
        async with asyncio.timeout(order.seconds + _GIVE_UP_SECONDS):
            await self._ended.wait()
        self._outcome.seconds = time.perf_counter() - begun
        for connection in connections:
            connection.close()

    async def _await_followed(self) -> None:
        """Returns once all empty answers are followed; at once if none ever was."""
        self._all_followed.clear()
        if self._outcome.followed and self._outcome.lost > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_FOLLOWED_SECONDS):
                    await self._all_followed.wait()

    def _followed(self, number: int) -> None:
        took = time.perf_counter() - self._requests.since[number]
        self._outcome.followed_ms.append(took * 1000)
        self._outcome.followed += 1
        if self._outcome.lost <= 0:
            self._all_followed.set()

    async def _connect(self) -> Connection:
        loop = asyncio.get_running_loop()
        _, protocol = await loop.create_connection(
            lambda: Connection(self._answered), "127.0.0.1", self._order.port
        )
        return protocol

    def _fire(self, intended: float) -> None:
        if self._idle:
            self._idle.popleft().send(self._requests.next(intended), intended)
        else:
            self._waiting.append(intended)

    def _answered(self, connection: Connection, since: float, answer: bytes) -> None:
        now = time.perf_counter()
        self._outcome.latencies_ms.append((now - since) * 1000)
        self._judge(answer)
        if self._order.rate:
            self._left -= 1
            if self._waiting:
                intended = self._waiting.popleft()
                connection.send(self._requests.next(intended), intended)
            else:
                self._idle.append(connection)
        elif now < self._until:
            connection.send(self._requests.next(now), now)
        else:
            self._left -= 1
        if not self._left:
            self._ended.set()

    def _judge(self, answer: bytes) -> None:
        self._outcome.empty += answer.endswith((_HEAD_END, _EMPTY_CHUNK))
        if answer.startswith(b"HTTP/1.1 200") and self._order.expects.encode() in answer:
            return
        self._outcome.bad += 1
        if len(self._outcome.bad_answers) < _SHOWN:
            self._outcome.bad_answers.append(answer.decode("utf-8", "replace")[:600])


def _is_whole(received: bytes) -> bool:
    """Whether an answer has arrived to its end."""
    head, found, body = received.partition(_HEAD_END)
    if not found:
        return False
    lowered = head.lower()
    if b"transfer-encoding: chunked" in lowered:
        return body.endswith(_LAST_CHUNK)
    length = lowered.partition(b"content-length:")[2].partition(b"\r\n")[0]
    return len(body) >= int(length or b"0")


def _precise_loop() -> asyncio.AbstractEventLoop:
    """An event loop whose timers are not rounded up to milliseconds, as epoll's are."""
    return asyncio.SelectorEventLoop(selectors.SelectSelector())


def main() -> None:
    """Reads an Order as JSON, writes its Outcome as JSON."""
    told: dict[str, Any] = json.load(sys.stdin)
    with asyncio.Runner(loop_factory=_precise_loop) as runner:
        outcome = runner.run(Run(Order(**told))())
    json.dump(asdict(outcome), sys.stdout)


if __name__ == "__main__":
    main()
