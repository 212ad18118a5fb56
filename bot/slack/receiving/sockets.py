"""Socket Mode: always two connections, so that Slack's refreshes leave no gap."""

import json
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from random import SystemRandom
from typing import Any

import structlog
from slack_bolt import BoltRequest, BoltResponse
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.sync.client import ClientConnection, connect

from bot.errors import ChatError
from bot.slack import metrics
from bot.slack.receiving.incoming import Arrival, Foreground
from bot.slack.receiving.listeners import ARRIVAL
from bot.slack.receiving.pool import PoolCapacity
from bot.slack.receiving.reception import MakeRequest
from bot.threads import EssentialThread

log = structlog.get_logger()

Envelope = dict[str, Any]

_PING_SECONDS = 5.0
_SILENT_SECONDS = 20.0
_LEAVING_SECONDS = 15.0
_LONGEST_BACK_OFF_SECONDS = 30.0
_DISABLED_SECONDS = 60.0
_DISABLED = "Socket Mode is turned off for this app. Turn it on at api.slack.com/apps."
_BUSY = {
    "response_type": "ephemeral",
    "text": "Too many requests are in progress. Nothing was done. Try again shortly.",
}
_chance = SystemRandom()


@dataclass(eq=False)
class Line:
    """One connection; `alive_at` is when Slack last said anything on it (monotonic).

    `taking_since` is since when something it brought is being taken, None while it waits. `pending`
    counts the requests it brought that are not acknowledged yet; what it brings while it
    `is_closing` cannot be acknowledged.
    """

    websocket: ClientConnection | None = None
    alive_at: float = field(default_factory=time.monotonic)
    leaving_at: float | None = None
    pong: threading.Event | None = None
    taking_since: float | None = None
    pending: int = 0
    is_closing: bool = False


class Sockets:
    """Keeps connections to Slack open and answers the requests they deliver.

    A connection that Slack announces to close is replaced first and then read to its end.
    `issue_url` asks Slack for the address of a new connection; `foreground` is entered when an
    envelope has arrived, until its answer is out. They are answered in `threads`, which `stop`
    ends.
    """

    def __init__(
        self,
        threads: Executor,
        answer: Callable[[MakeRequest], BoltResponse],
        issue_url: Callable[[], str],
        foreground: Foreground = nullcontext,
        *,
        wanted: int = 2,
        most: int = 64,
    ) -> None:
        self._threads = threads
        self._issue_url = issue_url
        self._answer = answer
        self._foreground = foreground
        self._wanted = wanted
        self._room = PoolCapacity(most)
        self._changed = threading.Condition()
        self._lines: list[Line] = []
        self._failures = 0
        self._next_try = 0.0
        self._trouble: str | None = "Socket Mode is connecting."
        self._stopping = False
        self._keeper = EssentialThread("sockets", self._pass)
        self.threads = (self._keeper,)

    def start(self) -> None:
        """Starts connecting."""
        self._keeper.start()

    def stop(self, patience_seconds: float = 3.0) -> None:
        """Acknowledges what has arrived, then closes."""
        self._keeper.stop()
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._keeper.join()
        self._room.drain(patience_seconds)
        with self._changed:
            lines = list(self._lines)
        for line in lines:
            self._end(line, patience_seconds)
        with self._changed:
            self._changed.wait_for(lambda: not self._lines, patience_seconds)
        self._threads.shutdown(cancel_futures=True)

    def health(self) -> str | None:
        """The problem if no connection has answered a ping lately, None otherwise."""
        with self._changed:
            if self._answering():
                return None
            return self._trouble or "No Socket Mode connection responds; reconnecting."

    def _end(self, line: Line, patience_seconds: float) -> None:
        """Closes a connection between two requests."""
        with self._changed:
            self._changed.wait_for(lambda: not line.pending, patience_seconds)
            line.is_closing = True
        _close(line)

    def _pass(self) -> None:
        with self._changed:
            if self._stopping:
                return
            lines = list(self._lines)
            self._open_missing()
            metrics.SOCKETS.set(self._answering())
        for line in lines:
            _look_after(line)
        with self._changed:
            if not self._stopping:
                self._changed.wait(min(_PING_SECONDS, self._until_next_try()))

    def _open_missing(self) -> None:
        staying = sum(line.leaving_at is None for line in self._lines)
        if time.monotonic() < self._next_try:
            return
        for _ in range(self._wanted - staying):
            line = Line()
            threading.Thread(target=self._run, args=(line,), name="socket", daemon=True).start()
            self._lines.append(line)  # its thread finds it, since this one has the lock

    def _until_next_try(self) -> float:
        missing = sum(line.leaving_at is None for line in self._lines) < self._wanted
        return max(0.01, self._next_try - time.monotonic()) if missing else _PING_SECONDS

    def _answering(self) -> int:
        latest = time.monotonic() - _SILENT_SECONDS
        return sum(
            line.websocket is not None and line.alive_at > latest and line.leaving_at is None
            for line in self._lines
        )

    def _run(self, line: Line) -> None:
        try:
            with connect(
                self._issue_url(), ping_interval=None, close_timeout=1, compression=None
            ) as websocket:
                self._opened(line, websocket)
                for text in websocket:
                    line.taking_since = time.monotonic()
                    self._take(line, str(text))
                    line.taking_since = None
        except ChatError as error:
            self._failed(_DISABLED if error.code == "link_disabled" else error.message)
        except (OSError, WebSocketException) as error:
            if line.leaving_at is None:
                self._failed(f"Socket Mode lost its connection ({type(error).__name__}).")
        except Exception:
            log.exception("a socket failed unexpectedly", reference=secrets.token_hex(3))
            self._failed("Socket Mode delivered a message that the bot cannot read; see the log.")
        finally:
            with self._changed:
                self._lines.remove(line)
                self._changed.notify_all()

    def _opened(self, line: Line, websocket: ClientConnection) -> None:
        metrics.RECONNECTS.labels("ok").inc()
        with self._changed:
            line.websocket = websocket
            line.alive_at = time.monotonic()
            is_late = self._stopping
        if is_late:
            _close(line)

    def _failed(self, trouble: str) -> None:
        metrics.RECONNECTS.labels("failed").inc()
        with self._changed:
            if self._stopping:
                return
            self._failures += 1
            longest = min(_LONGEST_BACK_OFF_SECONDS, 2.0 ** min(self._failures, 10) / 4)
            if trouble == _DISABLED:
                longest = _DISABLED_SECONDS
            self._next_try = time.monotonic() + longest * _chance.uniform(0.5, 1.0)
            self._trouble = trouble
        log.warning("a socket could not be kept open", error=trouble)

    def _take(self, line: Line, text: str) -> None:
        line.alive_at = time.monotonic()
        envelope: Envelope = json.loads(text)
        if envelope.get("type") == "hello":
            self._greeted()
        elif envelope.get("type") == "disconnect":
            self._told_to_go(line, str(envelope.get("reason")))
        elif "envelope_id" in envelope:
            self._accept(line, envelope, line.alive_at)

    def _greeted(self) -> None:
        with self._changed:
            self._failures = 0
            self._trouble = None
            self._changed.notify_all()

    def _told_to_go(self, line: Line, reason: str) -> None:
        log.info("Slack closes a socket", reason=reason)
        with self._changed:
            line.leaving_at = time.monotonic()
            self._changed.notify_all()
        if reason in {"link_disabled", "too_many_websockets"}:
            self._failed(
                _DISABLED if reason == "link_disabled" else "Slack reports too many open sockets."
            )

    def _accept(self, line: Line, envelope: Envelope, received: float) -> None:
        with ExitStack() as end:
            if not self._begin(line):
                # Slack tells the person that the app did not respond, so they try again.
                kind = envelope["type"]
                log.warning("a request reached a closing socket, and is not answered", type=kind)
                return
            end.callback(self._done, line)
            if not self._room.take():
                metrics.REFUSED.inc()
                if envelope["type"] == "slash_commands":
                    _send(line, envelope, _BUSY)
                return
            arrival = Arrival(received, doubted=bool(envelope.get("retry_attempt")))
            end.callback(self._room.give_back)
            end.callback(arrival.acknowledged)
            end.enter_context(self._foreground())
            context = {ARRIVAL: arrival}
            make = partial(
                BoltRequest, mode="socket_mode", body=envelope["payload"], context=context
            )
            try:
                answer = self._threads.submit(self._answer, make)
            except RuntimeError:  # it was stopped meanwhile
                return
            answer.add_done_callback(partial(_acknowledge, line, envelope, end.pop_all()))

    def _begin(self, line: Line) -> bool:
        """Whether what a connection brought can still be acknowledged; it is pending then."""
        with self._changed:
            line.pending += not line.is_closing
            return not line.is_closing

    def _done(self, line: Line) -> None:
        with self._changed:
            line.pending -= 1
            self._changed.notify_all()


def _acknowledge(
    line: Line, envelope: Envelope, end: ExitStack, answer: "Future[BoltResponse]"
) -> None:
    with end:
        if not answer.cancelled() and answer.result().status == HTTPStatus.OK:
            _send(line, envelope, _payload(answer.result()))


def _look_after(line: Line) -> None:
    """Pings, and closes a connection that is silent, stuck or was to go long ago."""
    now = time.monotonic()
    if line.websocket is None:
        return
    if line.pong is not None and line.pong.is_set():
        line.alive_at, line.pong = now, None
    overdue = line.leaving_at is not None and now - line.leaving_at > _LEAVING_SECONDS
    if line.taking_since is not None and now - line.taking_since > _SILENT_SECONDS:
        line.leaving_at = line.leaving_at or now  # so that another takes its place
        overdue = True
    if overdue or now - line.alive_at > _SILENT_SECONDS:
        _close(line)
    elif line.pong is None:
        try:
            line.pong = line.websocket.ping()
        except (ConnectionClosed, OSError):
            _close(line)


def _close(line: Line) -> None:
    line.is_closing = True
    if line.websocket is not None:
        line.websocket.close()


def _send(line: Line, envelope: Envelope, payload: object) -> None:
    answer = {"envelope_id": envelope["envelope_id"]}
    text = json.dumps(answer if payload is None else {**answer, "payload": payload})
    try:
        if line.websocket is not None:
            line.websocket.send(text)
    except (ConnectionClosed, OSError):
        log.warning("an acknowledgement was too late for its socket", type=envelope["type"])


def _payload(response: BoltResponse) -> object:
    if not response.body:
        return None
    kind = response.headers.get("content-type", [""])[0]
    is_json = kind.startswith("application/json")
    return json.loads(response.body) if is_json else {"text": response.body}
