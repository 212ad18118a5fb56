"""How one request is answered: verified, read, dispatched and acknowledged with its reply."""

import time
from collections.abc import Callable
from typing import Any

import structlog
from slack_bolt import App, BoltRequest, BoltResponse

from bot.slack import metrics
from bot.slack.blocks import encoded, has_new_blocks
from bot.slack.card import Reply
from bot.slack.forms.view import options_of
from bot.slack.receiving.answers import Answers, draft_of, plain_draft_of
from bot.slack.receiving.incoming import Arrival, Dispatcher, Incoming
from bot.slack.receiving.listeners import ARRIVAL
from bot.slack.text import as_text

log = structlog.get_logger()

MakeRequest = Callable[[], BoltRequest]
"""Makes a request whose context holds its Arrival; called in the thread that answers it."""

_JSON = "application/json;charset=utf-8"


class RequestReceiver:
    """Answers the requests of Slack, each in one call."""

    def __init__(self, app: App, dispatcher: Dispatcher, answers: Answers) -> None:
        self._app = app
        self._dispatcher = dispatcher
        self._answers = answers

    def answer(self, make: MakeRequest) -> BoltResponse:
        """The response to one request; 500 if it breaks."""
        try:
            request = make()
            response = self._app.dispatch(request)
            arrival: Arrival = request.context[ARRIVAL]
            if arrival.incoming is None:
                return response
            if arrival.incoming.kind == "opened":
                self._answers.suggest(arrival.incoming, self._dispatcher.answer, arrival)
                return response
            return self._acknowledgement(arrival.incoming, arrival, response)
        except Exception:
            log.exception("a request failed unexpectedly")
            return BoltResponse(status=500)

    def _acknowledgement(
        self, incoming: Incoming, arrival: Arrival, response: BoltResponse
    ) -> BoltResponse:
        """Of a command it is the reply, which else follows."""
        if incoming.doubted:
            metrics.REDELIVERIES.inc()
        if incoming.kind == "shortcut" and not incoming.channel:
            self._answers.open_in_direct(incoming, self._dispatcher.answer, arrival)
            return response
        reply = self._dispatcher.answer(incoming) or Reply()
        reply = self._answers.promise(incoming, reply, arrival)
        if incoming.kind == "options":
            response = _json({"options": options_of(reply.options)})
        elif incoming.kind == "form-change":
            self._answers.update_form(incoming, reply, arrival)
        elif reply.form is not None and self._answers.open_form(incoming, reply, arrival):
            response = BoltResponse(status=200)
        elif incoming.kind == "command":
            response = self._told(incoming, reply, arrival)
        elif incoming.kind == "form" and reply.is_refusal:
            response = _beside_fields(incoming, reply)
        else:
            self._answers.send(incoming, reply, arrival)
        seconds = time.monotonic() - incoming.received
        metrics.ACKNOWLEDGE_SECONDS.labels(incoming.kind).observe(seconds)
        return response

    def _told(self, incoming: Incoming, reply: Reply, arrival: Arrival) -> BoltResponse:
        draft = draft_of(incoming, reply)
        if has_new_blocks(draft.blocks):
            # Slack does not say that it refuses an acknowledgement.
            if self._answers.send(incoming, reply, arrival, draft):
                return BoltResponse(status=200)
            draft = plain_draft_of(incoming, reply, draft)
        if not draft.text:
            return BoltResponse(status=200)
        return _json({"response_type": "ephemeral", **draft.as_json()})


def _json(said: dict[str, Any]) -> BoltResponse:
    # Bolt takes a dictionary, too, but its encoder takes ten times as long.
    return BoltResponse(status=200, body=encoded(said).decode(), headers={"content-type": _JSON})


def _beside_fields(incoming: Incoming, reply: Reply) -> BoltResponse:
    """Errors at the fields of a form that stays open; at its first one where none is named."""
    whole = " ".join(as_text(Reply(reply.lines)).split("\n"))
    known = {name: said for name, said in reply.errors.items() if name in incoming.fields}
    errors = known or {next(iter(incoming.fields), ""): whole}
    return _json({"response_action": "errors", "errors": errors})
