"""Socket Mode: tickets, connections, and payloads that go to one arbitrary connection."""

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from playground.slack.errors import DeliveryError, SlackError
from playground.slack.people import APP
from playground.slack.shapes import Json

ACK_SECONDS = 3.0
MOST_SOCKETS = 10
REFRESH_SECONDS = 10.0


@dataclass(eq=False)
class Socket:
    """One connection of the bot; `send` takes a JSON text, `drop` ends the connection."""

    send: Callable[[str], Awaitable[None]]
    drop: Callable[[], None]


class Sockets:
    """The bot's open connections and the payloads that wait for its acknowledgement.

    `ack_seconds` is how long Slack waits for one, over HTTP too.
    """

    def __init__(self, choose: Callable[[Sequence[Socket]], Socket] = secrets.choice) -> None:
        self.open: list[Socket] = []
        self.link_disabled = False
        self.choose = choose
        self.ack_seconds = ACK_SECONDS
        self._tickets: set[str] = set()
        self._waiting: dict[str, asyncio.Future[Any]] = {}

    def ticket(self) -> str:
        """A ticket that opens one connection; raises SlackError when the link is disabled."""
        if self.link_disabled:
            raise SlackError("link_disabled")
        ticket = secrets.token_hex(16)
        self._tickets.add(ticket)
        return ticket

    def admit(self, ticket: str) -> bool:
        """Whether the ticket is good; it is spent either way."""
        known = ticket in self._tickets
        self._tickets.discard(ticket)
        return known and not self.link_disabled

    async def join(self, socket: Socket) -> bool:
        """Greets a connection; one too many is sent away and False returned."""
        if len(self.open) >= MOST_SOCKETS:
            await socket.send(json.dumps(_disconnect("too_many_websockets")))
            return False
        self.open.append(socket)
        await socket.send(json.dumps(self._hello()))
        return True

    def leave(self, socket: Socket) -> None:
        """Forgets a connection that has ended."""
        if socket in self.open:
            self.open.remove(socket)

    def acknowledged(self, text: str) -> None:
        """Takes what the bot sent: an acknowledgement by envelope_id, with or without a payload."""
        message = json.loads(text)
        waiting = self._waiting.get(message.get("envelope_id", ""))
        if waiting is not None and not waiting.done():
            waiting.set_result(message.get("payload"))

    async def deliver(self, kind: str, payload: Json, retry: tuple[int, str] | None = None) -> Any:
        """Sends one payload to one connection, and returns the payload of its acknowledgement.

        Raises:
            DeliveryError: connection_failed without a connection, timeout after `ack_seconds`.
        """
        if not self.open:
            raise DeliveryError("connection_failed")
        socket, envelope_id = self.choose(self.open), secrets.token_hex(16)
        envelope = {
            "envelope_id": envelope_id,
            "type": kind,
            "payload": payload,
            "accepts_response_payload": kind != "events_api",
        }
        if kind == "events_api":
            envelope["retry_attempt"], envelope["retry_reason"] = retry or (0, "")
        waiting = self._waiting[envelope_id] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(self.ack_seconds):
                await socket.send(json.dumps(envelope))
                return await waiting
        except TimeoutError:
            raise DeliveryError("timeout") from None
        except OSError:  # the bot is gone, and its end has not been noticed yet
            raise DeliveryError("connection_failed") from None
        finally:
            del self._waiting[envelope_id]

    async def disconnect(self, reason: str) -> None:
        """Tells every connection to go: warning, refresh_requested or link_disabled.

        A warning announces the end and changes nothing yet; refresh_requested ends the
        connections after ten seconds; link_disabled ends them at once and lets none back in.
        """
        self.link_disabled = self.link_disabled or reason == "link_disabled"
        for socket in list(self.open):
            await socket.send(json.dumps(_disconnect(reason)))
            if reason == "refresh_requested":
                asyncio.get_running_loop().call_later(REFRESH_SECONDS, socket.drop)
            elif reason == "link_disabled":
                socket.drop()

    def drop_all(self) -> None:
        """Breaks every connection, as a network fault does."""
        for socket in list(self.open):
            socket.drop()

    def _hello(self) -> Json:
        return {
            "type": "hello",
            "num_connections": len(self.open),
            "debug_info": {
                "host": "applink-1",
                "build_number": 1,
                "approximate_connection_time": 18060,
            },
            "connection_info": {"app_id": APP},
        }


def _disconnect(reason: str) -> Json:
    return {"type": "disconnect", "reason": reason, "debug_info": {"host": "applink-1"}}
