"""The HTTP API of a Prometheus or a compatible server; each request ends within seconds."""

import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from http import HTTPStatus
from math import isfinite
from pathlib import Path
from typing import TypedDict
from urllib.parse import urlencode, urlsplit

import msgspec
import urllib3
from urllib3.exceptions import HTTPError

from bot.config import BasicLogin, PrometheusSettings, SigV4
from bot.errors import MetricsError
from bot.gpus.sources.identities import Identities
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
# Returns the headers that authenticate a request, from its URL and body.
Login = Callable[[str, bytes], Mapping[str, str]]
_CONTENT = {"Content-Type": "application/x-www-form-urlencoded"}
_PLAIN_WORD = re.compile(rb"[!-~]+")
_ONE_LINE = re.compile(r"[^\r\n\0]+")
# Sovereign clouds have other endings.
_AZURE = re.compile(r"prometheus\.monitor\.azure\.[a-z]+$")
_AZURE_ITSELF = "prometheus.monitor.azure.com"
_AMAZON = "aps"


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
        self._login = _login_of(name, settings, identities)
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
        headers = {**_CONTENT, **self._login(url, body)}
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
        _content_of(str(file), f"{name}: {file}", "prometheus.ca_file and .client_certificate")
    return found


def _login_of(name: str, settings: PrometheusSettings, identities: Identities) -> Login:
    """The login from the settings; files are read again for each request."""
    token_file, basic, sigv4 = settings.token_file, settings.basic, settings.sigv4
    if token_file is not None:
        return lambda _url, _body: _bearer(_token(token_file, name))
    if basic is not None:
        return lambda _url, _body: _basic(basic, name)
    if settings.entra:
        return lambda url, _body: _bearer(identities.entra_token(_scope(url)))
    if sigv4 is not None:
        return lambda url, body: _signed(sigv4, identities, url, body)
    return lambda _url, _body: {}


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _token(file: str, name: str) -> str:
    token = _content_of(file, f"{name}: the token", "prometheus.token_file").strip()
    if not _PLAIN_WORD.fullmatch(token):  # the library would quote it in its error
        raise MetricsError(
            f"{name}: the token must be one word of printable ASCII characters.",
            "Check prometheus.token_file.",
        )
    return token.decode()


def _basic(login: BasicLogin, name: str) -> dict[str, str]:
    setting = "prometheus.basic.password_file"
    told = _content_of(login.password_file, f"{name}: the password", setting)
    password = told.decode(errors="replace").rstrip("\r\n")
    if not _ONE_LINE.fullmatch(password):
        raise MetricsError(f"{name}: the password must be a single line.", f"Check {setting}.")
    encoded = b64encode(f"{login.username}:{password}".encode()).decode()
    return {"Authorization": f"Basic {encoded}"}


def _scope(url: str) -> str:
    found = _AZURE.search(urlsplit(url).hostname or "")
    return f"https://{found[0] if found else _AZURE_ITSELF}/.default"


def _signed(login: SigV4, identities: Identities, url: str, body: bytes) -> dict[str, str]:
    # Slow to import, so only for AWS.
    from botocore.auth import SigV4Auth  # noqa: PLC0415 - see above
    from botocore.awsrequest import AWSRequest  # noqa: PLC0415 - as above

    keys = identities.amazon_keys(login.credentials, "prometheus.sigv4.credentials")
    request = AWSRequest("POST", url, headers=_CONTENT, data=body)
    SigV4Auth(keys, _AMAZON, login.region).add_auth(request)
    return dict(request.headers.items())


def _content_of(file: str, what: str, setting: str) -> bytes:
    """The content of a file named by a setting; MetricsError if it cannot be read."""
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise MetricsError(
            f"{what} cannot be read: {error.strerror}.", f"Check {setting}."
        ) from error
