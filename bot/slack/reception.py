"""Where requests are verified, asked about at the desk, and acknowledged with its replies."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple, TypeVar

import structlog
from slack_bolt import App, BoltRequest, BoltResponse

from bot.slack import metrics
from bot.slack.answers import Answers, draft_of
from bot.slack.blocks import encoded
from bot.slack.card import Reply
from bot.slack.incoming import Arrival, Dispatcher, Incoming
from bot.slack.listeners import ARRIVAL
from bot.tried import captured

log = structlog.get_logger()

T = TypeVar("T")

Request = Callable[[], BoltRequest]
"""Makes a request whose context holds its Arrival; called in the thread that answers it."""

_JSON = "application/json;charset=utf-8"


class _ReceivedRequest(NamedTuple):
    """Bolt's response to a request; `arrival` is None if the request cannot be read."""

    response: BoltResponse
    arrival: Arrival | None = None

    @property
    def incoming(self) -> Incoming | None:
        """What it says to us, if anything."""
        return self.arrival.incoming if self.arrival is not None else None


class RequestReceiver:
    """Answers requests as they come; those that wait together are asked about together."""

    def __init__(self, app: App, desk: Dispatcher, answers: Answers) -> None:
        self._app = app
        self._desk = desk
        self._answers = answers

    def answers(self, requests: Iterable[Request]) -> Iterator[BoltResponse]:
        """The response to each, in order; one that breaks is answered 500."""
        seen: deque[_ReceivedRequest] = deque()
        for reply in self._desk.answers(self._incomings(requests, seen)):
            while seen[0].incoming is None:
                yield seen.popleft().response
            yield _unless_broken(partial(self._replied, seen.popleft(), reply), _broken())
        yield from (each.response for each in seen)

    def _incomings(
        self, requests: Iterable[Request], seen: "deque[_ReceivedRequest]"
    ) -> Iterator[Incoming]:
        for request in requests:
            seen.append(_unless_broken(partial(self._see, request), _ReceivedRequest(_broken())))
            incoming = seen[-1].incoming
            if incoming is not None:
                if incoming.doubted:
                    metrics.REDELIVERIES.inc()
                yield incoming

    def _see(self, make: Request) -> _ReceivedRequest:
        request = make()
        return _ReceivedRequest(self._app.dispatch(request), request.context[ARRIVAL])

    def _replied(self, seen: _ReceivedRequest, reply: Reply | None) -> BoltResponse:
        """The acknowledgement: of a command it is the reply, which else follows."""
        response, arrival = seen
        if arrival is None or arrival.incoming is None:
            return response
        incoming = arrival.incoming
        reply = self._answers.promise(incoming, reply or Reply(), arrival)
        if incoming.kind == "command":
            response = _told(incoming, reply)
        else:
            self._answers.send(incoming, reply, arrival)
        seconds = time.monotonic() - incoming.received
        metrics.ACKNOWLEDGE_SECONDS.labels(incoming.kind).observe(seconds)
        return response


def _told(incoming: Incoming, reply: Reply) -> BoltResponse:
    draft = draft_of(incoming, reply)
    if not draft.text:
        return BoltResponse(status=200)
    said = {"response_type": "ephemeral", **draft.as_json()}
    # Bolt takes a dictionary, too, but its encoder takes ten times as long.
    return BoltResponse(status=200, body=encoded(said).decode(), headers={"content-type": _JSON})


def _unless_broken(work: Callable[[], T], broken: T) -> T:
    future = captured(work)
    error = future.exception()
    if error is None:
        return future.result()
    log.error("a request failed unexpectedly", exc_info=error)
    return broken


def _broken() -> BoltResponse:
    return BoltResponse(status=500)
