"""A bot that stops leaves no request done without an acknowledgement."""

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any

import pytest
from slack_bolt import BoltResponse
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.server import ServerProtocol

from bot.slack.receiving.reception import MakeRequest
from bot.slack.receiving.sockets import Sockets
from tests.bot.slack.receiving.dispatchers import Gate, wait_until
from tests.playground.slack.served import PATIENCE_SECONDS


class Peer:
    """Slack's end of one connection, which says when it reads and when it sends."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._protocol = ServerProtocol()
        connection.settimeout(PATIENCE_SECONDS)
        self._events: list[Any] = []
        request = self._next()
        assert isinstance(request, Request)
        self._protocol.send_response(self._protocol.accept(request))
        self._flush()
        self.says({"type": "hello"})

    def says(self, message: dict[str, Any]) -> None:
        """Sends a message, even if the other end has said that it closes."""
        frame = Frame(Opcode.TEXT, json.dumps(message).encode())
        self._connection.sendall(frame.serialize(mask=False))

    def asks(self, envelope_id: str) -> None:
        """Sends a request."""
        payload = {"command": "/train", "text": envelope_id}
        self.says({"type": "slash_commands", "envelope_id": envelope_id, "payload": payload})

    def hears(self) -> str:
        """What the bot sends next: the id of the request that it acknowledges, or "close"."""
        while (frame := self._next()).opcode is Opcode.PING:
            pass
        if frame.opcode is Opcode.CLOSE:
            return "close"
        return str(json.loads(bytes(frame.data))["envelope_id"])

    def closes(self) -> None:
        """Answers that the bot closes, and ends the connection."""
        self._flush()
        self.end()

    def end(self) -> None:
        """Ends the connection."""
        self._connection.close()

    def _next(self) -> Any:
        while not self._events:
            self._protocol.receive_data(self._connection.recv(65536))
            self._events += self._protocol.events_received()
        return self._events.pop(0)

    def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                self._connection.sendall(data)


class Bot:
    """A bot that opens two connections, and answers each request once the gate is open."""

    def __init__(self, listener: socket.socket) -> None:
        self.gate, self.asked = Gate(), list[str]()
        self.peers: list[Peer] = []
        self._listener = listener
        url = f"ws://127.0.0.1:{listener.getsockname()[1]}"
        self.sockets = Sockets(ThreadPoolExecutor(4), self._answer, lambda: url)
        self.sockets.start()
        self._stopping = threading.Thread(target=self.sockets.stop)

    def opens(self, many: int) -> list[Peer]:
        """Lets so many more connections open, and returns once the bot knows they are."""
        for _ in range(many):
            self.accepts()
        wait_until(lambda: self._opened() == len(self.peers))
        return self.peers

    def accepts(self) -> Peer:
        """Lets one more connection open."""
        self.peers.append(Peer(self._listener.accept()[0]))
        return self.peers[-1]

    def has_heard_nothing_for(self, seconds: float) -> None:
        """Makes it look as if Slack had been silent for so long."""
        for line in self.sockets._lines:
            line.alive_at -= seconds

    def stops(self) -> None:
        """Begins to stop."""
        self._stopping.start()

    def has_stopped(self) -> None:
        """Returns once it has."""
        self._stopping.join(PATIENCE_SECONDS)
        assert not self._stopping.is_alive()

    def _opened(self) -> int:
        return sum(line.websocket is not None for line in self.sockets._lines)

    def _answer(self, make: MakeRequest) -> BoltResponse:
        self.asked.append(make().body["text"])
        self.gate.wait()
        return BoltResponse(status=200)


@pytest.fixture
def bot() -> Iterator[Bot]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE_SECONDS)
        bot = Bot(listener)
        yield bot
        for peer in bot.peers:
            peer.end()


def crosses(peer: Peer) -> None:
    """Slack sends a request before it reads that the bot closes."""
    assert peer.hears() == "close"
    peer.asks("crossed")
    peer.closes()


def test_requests_that_cross_the_close_are_not_done(bot: Bot) -> None:
    bot.gate.opened.set()
    with ThreadPoolExecutor(2) as crossing:
        crossed = [crossing.submit(crosses, peer) for peer in bot.opens(2)]
        bot.stops()
        for each in crossed:
            each.result()
    bot.has_stopped()
    assert bot.asked == []


def test_requests_on_late_connections_are_not_done(bot: Bot) -> None:
    """A connection that opens only when the bot stops is closed at once."""
    bot.gate.opened.set()
    (first,) = bot.opens(1)
    bot.stops()
    assert first.hears() == "close"
    crosses(bot.accepts())
    first.closes()
    bot.has_stopped()
    assert bot.asked == []


def test_requests_on_silent_connections_are_not_done(bot: Bot) -> None:
    """A connection that has said nothing for long is closed, and then says something."""
    bot.gate.opened.set()
    with ThreadPoolExecutor(2) as crossing:
        crossed = [crossing.submit(crosses, peer) for peer in bot.opens(2)]
        bot.has_heard_nothing_for(60)
        for each in crossed:
            each.result()
    bot.stops()
    bot.has_stopped()
    assert bot.asked == []


def test_requests_are_acknowledged_before_the_close(bot: Bot) -> None:
    with ThreadPoolExecutor(2) as listening:
        heard = {peer: listening.submit(peer.hears) for peer in bot.opens(2)}
        bot.stops()
        done, _ = wait(heard.values(), PATIENCE_SECONDS, FIRST_COMPLETED)
        first, second = sorted(bot.peers, key=lambda peer: heard[peer] not in done)
        second.asks("late")  # while the first connection closes
        assert bot.gate.entered.wait(PATIENCE_SECONDS)
        first.closes()
        wait_until(lambda: len(bot.sockets._lines) == 1)
        bot.gate.opened.set()
        assert (heard[first].result(), heard[second].result()) == ("close", "late")
    assert second.hears() == "close"
    second.closes()
    bot.has_stopped()
    assert bot.asked == ["late"]
