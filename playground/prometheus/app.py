"""The part of Prometheus' HTTP API that the bot asks, as an ASGI application.

At /metrics is what exporters say now, so that a Prometheus of yours can scrape it (with
`honor_labels`, since all of them come from one place).
"""

import json
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from math import isinf, isnan
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from playground.loopback import Receive, Scope, Send
from playground.prometheus.past import Labels, Past
from playground.prometheus.reading import ParseError, read
from playground.prometheus.selecting import ExecutionError, Look

OK, BAD_REQUEST, NOT_FOUND, UNPROCESSABLE, UNAVAILABLE = 200, 400, 404, 422, 503
_BEGIN = "/api/v1/"
_MOST_POINTS = 11_000


class _Answer(NamedTuple):
    status: int
    body: dict[str, Any] | str


class _BadError(Exception):
    """A parameter that is none; the words are Prometheus' own."""


class PrometheusApp:
    """Answers queries of the past; while that is away, as a gateway does whose server is."""

    def __init__(self, past: Past) -> None:
        self._past = past

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Takes one request."""
        if scope["type"] != "http":
            return
        answer = self._answer(scope, await _body(receive))
        is_text = isinstance(answer.body, str)
        content = str(answer.body) if is_text else json.dumps(answer.body)
        kind = b"text/plain; charset=utf-8" if is_text else b"application/json"
        headers = [(b"content-type", kind)]
        start = {"type": "http.response.start", "status": answer.status, "headers": headers}
        await send(start)
        await send({"type": "http.response.body", "body": content.encode()})

    def _answer(self, scope: Scope, body: bytes) -> _Answer:
        if self._past.is_away:
            return _Answer(UNAVAILABLE, "no healthy upstream\n")
        if scope["path"] == "/metrics":
            return _Answer(OK, self._past.present())
        what = str(scope["path"]).removeprefix(_BEGIN)
        if scope["path"] == what or what not in {"query", "query_range"}:
            return _Answer(NOT_FOUND, "404 page not found\n")
        form = dict(parse_qsl(scope["query_string"].decode()) + parse_qsl(body.decode()))
        try:
            data = self._range(form) if what == "query_range" else self._instant(form)
        except _BadError as error:
            return _failed(BAD_REQUEST, "bad_data", f"{error}")
        except ParseError as error:
            return _failed(BAD_REQUEST, "bad_data", f'invalid parameter "query": {error}')
        except ExecutionError as error:
            return _failed(UNPROCESSABLE, "execution", f"{error}")
        return _Answer(OK, {"status": "success", "data": data})

    def _instant(self, form: Mapping[str, str]) -> dict[str, Any]:
        moment = _moment(form, "time")
        expression = read(form.get("query", ""))
        [vector] = Look(self._past, [moment]).at(expression)
        result = [
            {"metric": dict(labels), "value": [moment, _shown(value)]}
            for labels, value in vector.items()
        ]
        return {"resultType": "vector", "result": result}

    def _range(self, form: Mapping[str, str]) -> dict[str, Any]:
        moments = _moments(form)
        expression = read(form.get("query", ""))
        found: dict[Labels, list[list[Any]]] = {}
        vectors = Look(self._past, moments).at(expression)
        for moment, vector in zip(moments, vectors, strict=True):
            for labels, value in vector.items():
                found.setdefault(labels, []).append([moment, _shown(value)])
        result = [{"metric": dict(key), "values": found[key]} for key in sorted(found)]
        return {"resultType": "matrix", "result": result}


async def _body(receive: Receive) -> bytes:
    raw, more = b"", True
    while more:
        message = await receive()
        raw += message.get("body", b"")
        more = bool(message.get("more_body"))
    return raw


def _failed(status: int, kind: str, words: str) -> _Answer:
    return _Answer(status, {"status": "error", "errorType": kind, "error": words})


def _moments(form: Mapping[str, str]) -> list[float]:
    start, end = _moment(form, "start"), _moment(form, "end")
    if end < start:
        raise _BadError('invalid parameter "end": end timestamp must not be before start time')
    step = _number(form.get("step", ""))
    if step is None:
        said = f"cannot parse {_quoted(form.get('step', ''))} to a valid duration"
        raise _BadError(f'invalid parameter "step": {said}')
    if step <= 0:
        raise _BadError(
            'invalid parameter "step": zero or negative query resolution step widths are not'
            " accepted. Try a positive integer"
        )
    if (end - start) / step > _MOST_POINTS:
        raise _BadError(
            "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query"
            " resolution (?step=XX)"
        )
    count = int((end - start) // step) + 1
    return [_whole(start + place * step) for place in range(count)]


def _moment(form: Mapping[str, str], name: str) -> float:
    """Seconds since 1970, or a moment of RFC 3339."""
    said = form.get(name, "")
    found = _number(said)
    if found is None:
        try:
            moment = datetime.fromisoformat(said)
        except ValueError:
            moment = None
        if moment is None or moment.tzinfo is None:
            where = f"Invalid time value for '{name}': " if name == "time" else ""
            words = f"cannot parse {_quoted(said)} to a valid timestamp"
            raise _BadError(f'invalid parameter "{name}": {where}{words}')
        found = moment.timestamp()
    return _whole(found)


def _number(said: str) -> float | None:
    try:
        found = float(said)
    except ValueError:
        return None
    return None if isnan(found) or isinf(found) else found


def _whole(moment: float) -> float:
    """In milliseconds, and without a point where there are none."""
    rounded = round(moment, 3)
    return int(rounded) if rounded == int(rounded) else rounded


def _quoted(said: str) -> str:
    return json.dumps(said)


def _shown(value: float) -> str:
    """A value as Go writes it: all digits, no exponent."""
    if isnan(value):
        return "NaN"
    if isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return f"{Decimal(repr(float(value))).normalize():f}"
