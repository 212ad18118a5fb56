"""The HTTP API of a Prometheus or a compatible server; each request ends within seconds."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from http import HTTPStatus
from math import isfinite
from typing import TypedDict
from urllib.parse import urlencode

import msgspec
import urllib3
from urllib3.exceptions import HTTPError

from bot.config import PrometheusSettings
from bot.errors import MetricsError
from bot.gpus.sources.identities import Identities
from bot.gpus.sources.login import CONTENT, content_of, login_of
from bot.masking import hide_secrets

TIME_OUT_SECONDS = 10.0
# The server times out before the client, so that it still reports the error.
_QUERY_SECONDS = 8
_LONGEST_QUOTE = 200
_REFUSED = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
_BUSY = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}
_LEAST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS = 30.0, 3_600.0
_LOGINS = {
    "token_file": "prometheus.token_file",
    "basic": "prometheus.basic",
    "entra": "the role of the bot's Azure identity (see docs/gpus.md)",
    "sigv4": "the bot's AWS permissions (see docs/gpus.md)",
    "client_certificate": "prometheus.client_certificate",
}


class _Series(msgspec.Struct, frozen=True):
    metric: Mapping[str, str] = {}
    value: tuple[float, str] = (0.0, "")
    values: tuple[tuple[float, str], ...] = ()


class _Data(msgspec.Struct, frozen=True):
    result: tuple[_Series, ...] = ()


class _Answer(msgspec.Struct, frozen=True, rename="camel"):
    status: str = ""
    error: str = ""
    message: str = ""
    data: _Data = _Data()


_DECODER = msgspec.json.Decoder(_Answer)


class Prometheus:
    """One Prometheus; `name` is its name in messages. MetricsError if files are missing."""

    def __init__(self, name: str, settings: PrometheusSettings, identities: Identities) -> None:
        self.name = name
        self._settings = settings
        self._login = login_of(name, settings, identities)
        self._pool = urllib3.PoolManager(retries=False, **_files(name, settings))

    @property
    def matchers(self) -> Mapping[str, str]:
        """The labels that select this cluster's series."""
        return self._settings.matchers

    def of(self, metric: str, *conditions: str) -> str:
        """The selector of this cluster's series of a metric that meet the conditions.

        With an empty `metric`, a condition selects the metric.
        """
        mine = (f"{name}={_quoted(value)}" for name, value in self.matchers.items())
        return f"{metric}{{{','.join((*mine, *conditions))}}}"

    def values(self, query: str, at: datetime) -> list[tuple[Mapping[str, str], float]]:
        """The labels and the value of each series of a query at a moment; MetricsError."""
        fields = {"query": query, "time": f"{at.timestamp():.0f}"}
        return [(each.metric, float(each.value[1])) for each in self._ask("query", fields).result]

    def has(self, metric: str, label: str, at: datetime, minutes: int) -> bool:
        """Whether there was a metric with that label in the minutes before a moment."""
        query = f"count(last_over_time({self.of(metric, present(label))}[{minutes}m]))"
        return bool(self.values(query, at))

    def each_minute(
        self, query: str, minutes: range
    ) -> Iterator[tuple[Mapping[str, str], int, float]]:
        """The labels of each series with its values at the end of each of these minutes."""
        times = f"{(minutes.start + 1) * 60}", f"{minutes.stop * 60}"
        asked = {"query": query, "step": "60", "start": times[0], "end": times[1]}
        for series in self._ask("query_range", asked).result:
            for at, text in series.values:
                value = float(text)
                if isfinite(value):
                    yield series.metric, round(at / 60) - 1, value

    def close(self) -> None:
        """Closes its connections."""
        self._pool.clear()

    def _ask(self, what: str, fields: Mapping[str, str]) -> _Data:
        url = f"{self._settings.url.rstrip('/')}/api/v1/{what}"
        body = urlencode({**fields, "timeout": f"{_QUERY_SECONDS}s"}).encode()
        headers = {**CONTENT, **self._login(url, body)}
        try:
            answer = self._pool.request(
                "POST",
                url,
                body=body,
                headers=headers,
                timeout=urllib3.Timeout(total=TIME_OUT_SECONDS),
                redirect=False,
            )
        except (HTTPError, OSError) as error:  # OSError for an unreadable TLS file
            raise MetricsError(
                f"{self.name} does not respond: {type(error).__name__}.", self._unreached(error)
            ) from error
        return self._read(answer)

    def _unreached(self, error: Exception) -> str:
        if isinstance(error, OSError) or "SSL" in type(error).__name__:
            return "Check prometheus.ca_file and prometheus.client_certificate."
        return "Check prometheus.url and whether the bot can reach it. Retrying."

    def _read(self, answer: urllib3.BaseHTTPResponse) -> _Data:
        status = answer.status
        try:
            said = _DECODER.decode(answer.data)
        except msgspec.MsgspecError:
            said = _Answer()
        if status == HTTPStatus.OK and said.status == "success":
            return said.data
        if status in _REFUSED:
            ways = [words for key, words in _LOGINS.items() if getattr(self._settings, key)]
            hint = f"Check {' and '.join(ways)}." if ways else "Check prometheus.token_file."
            raise MetricsError(f"{self.name} denied access: {status}.", hint)
        told = hide_secrets(" ".join((said.error or said.message).split()))[:_LONGEST_QUOTE]
        told = f": {told}" if told else ", not a Prometheus API response"
        is_busy = status in _BUSY
        raise MetricsError(
            f"{self.name} returned {status}{told}.",
            "Retrying later."
            if is_busy
            else "Check that prometheus.url is the address of a Prometheus.",
            retry_after_seconds=wait_of(answer.headers) if is_busy else 0.0,
        )


def present(label: str) -> str:
    """The condition that a series has a label."""
    return f'{label}!=""'


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def wait_of(headers: Mapping[str, str]) -> float:
    """How many seconds to wait before the next request to a rate-limiting server."""
    told = headers.get("Retry-After", "")
    asked = float(told) if told.isdecimal() else 0.0
    return min(max(asked, _LEAST_WAIT_SECONDS), _LONGEST_WAIT_SECONDS)


class _Files(TypedDict, total=False):
    ca_certs: str
    cert_file: str
    key_file: str


def _files(name: str, settings: PrometheusSettings) -> _Files:
    """The files for TLS, checked here: the library does not say which it cannot read."""
    found, shown = _Files(), settings.client_certificate
    if settings.ca_file is not None:
        found["ca_certs"] = settings.ca_file
    if shown is not None:
        found["cert_file"] = shown.certificate_file
        # Without a key file, the library asks for a passphrase on the terminal.
        found["key_file"] = shown.key_file or shown.certificate_file
    for file in found.values():
        content_of(str(file), f"{name}: {file}", "prometheus.ca_file and .client_certificate")
    return found
