"""Calls of Slack's Web API with one token, and their failures as ChatErrors."""

import base64
import http.client
import json
import logging
import re
import socket
import time
from collections.abc import Callable
from functools import partial
from urllib.error import URLError
from urllib.parse import unquote, urlsplit
from urllib.request import ProxyHandler, Request, build_opener

import urllib3
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.web import SlackResponse
from urllib3.exceptions import ConnectTimeoutError, HTTPError, ProxyError

from bot.errors import ChatError
from bot.slack import metrics
from bot.slack.blocks import encoded

TIMEOUT_SECONDS = 10
UNREACHABLE = "unreachable"
NO_ANSWER = "no_answer"
SERVER_ERROR = "server_error"
RATE_LIMITED = "ratelimited"
UPLOAD_FAILED = "upload_failed"
UPLOAD = "upload"
RESPOND = "response_url"

WHY = (SlackApiError, OSError, http.client.HTTPException)
"""What the library raises when a call fails."""

quiet = logging.getLogger("bot.slack.sdk")
"""For the library: it logs every failure that we raise, so only the gravest pass."""
quiet.setLevel(logging.CRITICAL)

_LONGEST_DETAIL = 500
_TIMEOUT = urllib3.Timeout(total=TIMEOUT_SECONDS)
_JSON = {"Content-Type": "application/json; charset=utf-8"}
_KEPT = 8  # as many as workers that bring answers
# Gateways forget connections that rest for minutes: Azure's after 4, AWS's after 6.
_KEPT_SECONDS = 60.0
_CODE = re.compile(r"[a-z][a-z0-9_]{1,60}")
_NEEDS_INVITATION = {"not_in_channel", "channel_not_found"}
_TOKEN_HINT = "Run `quartermaster doctor`; it shows which token or scope is missing."  # noqa: S105  # a sentence
_ARCHIVE_HINT = "Unarchive the channel, or set another one in quartermaster.yaml."
_HINTS = {
    "invalid_auth": _TOKEN_HINT,
    "not_authed": _TOKEN_HINT,
    "token_revoked": _TOKEN_HINT,
    "account_inactive": _TOKEN_HINT,
    "missing_scope": _TOKEN_HINT,
    "is_archived": _ARCHIVE_HINT,
    "is_inactive": _ARCHIVE_HINT,
    "restricted_action": "A workspace admin restricts who may post in this channel.",
}


class WebApi:
    """Slack's Web API as one token sees it; nothing is tried twice.

    `scopes` are those of the token by Slack's last answer, none before the first one.
    """

    def __init__(self, token: str, api_url: str) -> None:
        self.scopes: frozenset[str] = frozenset()
        self._web = WebClient(
            token=token,
            base_url=api_url,
            timeout=TIMEOUT_SECONDS,
            retry_handlers=[],
            logger=quiet,
        )

    def renew(self, token: str) -> None:
        """Makes all further calls with another token."""
        self._web.token = token

    @property
    def token(self) -> str:
        """The token that calls are made with now."""
        return self._web.token or ""

    @property
    def proxy(self) -> str | None:
        """The HTTP proxy, if one is needed."""
        return self._web.proxy

    def call(self, method: str, **arguments: object) -> SlackResponse:
        """Slack's answer to one call; arguments that are None are left out.

        ChatError says what Slack answered. Its code is `unreachable` when nothing was sent, and
        `no_answer` or `server_error` when it is not known whether the call had its effect.
        """
        given = {name: _form(value) for name, value in arguments.items() if value is not None}
        began = time.monotonic()
        try:
            answer = self._web.api_call(method, params=given)
        except WHY as error:
            failure = _failed(method, error, str(given.get("channel", "")))
            count(method, failure.code)
            raise failure from error
        finally:
            metrics.CALL_SECONDS.labels(method).observe(time.monotonic() - began)
        self.scopes = _scopes(answer) or self.scopes
        count(method, "ok")
        return answer


class ResponseUrls:
    """Slack's response URLs, over connections that are kept: an answer comes soon after another.

    All connections are replaced each minute, before a gateway on the way forgets one of them.
    """

    def __init__(self, proxy: str | None, monotonic: Callable[[], float] = time.monotonic) -> None:
        through = pool_manager(proxy)
        self._pool = through(maxsize=_KEPT, retries=False, timeout=_TIMEOUT, headers=_JSON)
        self._monotonic = monotonic
        self._kept_since = monotonic()

    def post(self, url: str, body: object) -> tuple[int, str]:
        """The status and the text that Slack answers; ChatError if it does not."""
        now = self._monotonic()
        if now - self._kept_since > _KEPT_SECONDS:
            self._kept_since = now
            self._pool.clear()
        try:
            answer = self._pool.request("POST", url, body=encoded(body))
        except (HTTPError, OSError) as error:
            failure = unanswered(RESPOND, error)
            count(RESPOND, failure.code)
            raise failure from error
        return answer.status, answer.data.decode("utf-8", "replace")


def pool_manager(proxy: str | None) -> Callable[..., urllib3.PoolManager]:
    """Makes connections by way of the proxy, if one is needed."""
    return _proxy_manager(proxy) if proxy else urllib3.PoolManager


def _proxy_manager(proxy: str) -> "partial[urllib3.ProxyManager]":
    """Makes connections by way of the proxy, whose address may have a user and no scheme."""
    url = urllib3.util.parse_url(proxy if "://" in proxy else f"http://{proxy}")
    headers = {}
    if url.auth:
        user = base64.b64encode(unquote(url.auth).encode()).decode()
        headers["Proxy-Authorization"] = f"Basic {user}"
    return partial(urllib3.ProxyManager, url.url, proxy_headers=headers)


def send_bytes(url: str, content: bytes, proxy: str | None) -> None:
    """Uploads a file's content to the URL that Slack returned for it.

    ChatError with the code UPLOAD_FAILED when it is not known to be there.
    """
    if urlsplit(url).scheme not in {"http", "https"}:
        raise ChatError("Slack returned no upload URL for a file.", code=UPLOAD_FAILED)
    request = Request(url, data=content, method="POST")  # noqa: S310  # looked at above
    request.add_header("Content-Type", "application/octet-stream")
    ways = [ProxyHandler({"http": proxy, "https": proxy})] if proxy else []
    try:
        with build_opener(*ways).open(request, timeout=TIMEOUT_SECONDS) as answer:
            answer.read(_LONGEST_DETAIL)
    except (OSError, http.client.HTTPException) as error:
        count(UPLOAD, UPLOAD_FAILED)
        said = f"A file could not be uploaded to Slack ({type(error).__name__})."
        raise ChatError(said, code=UPLOAD_FAILED) from error
    count(UPLOAD, "ok")


def count(method: str, result: str) -> None:
    """Counts one call by what Slack said."""
    metrics.CALLS.labels(method, result).inc()
    if result == RATE_LIMITED:
        metrics.RATE_LIMITED.labels(method).inc()


def refused(
    method: str, code: str, channel: str = "", retry_after_seconds: float = 0, detail: str = ""
) -> ChatError:
    """The error for a code that Slack answered."""
    return ChatError(
        f"Slack answered {code} to {method}.",
        _hint(code, channel),
        code=code,
        retry_after_seconds=retry_after_seconds,
        detail=detail,
    )


def unanswered(method: str, error: Exception) -> ChatError:
    """The error for a call that Slack did not answer."""
    code = UNREACHABLE if _never_sent(error) else NO_ANSWER
    said = "could not be reached" if code == UNREACHABLE else "did not answer"
    return ChatError(f"Slack {said} ({method}, {type(error).__name__}).", code=code)


def _failed(method: str, error: Exception, channel: str) -> ChatError:
    if not isinstance(error, SlackApiError):
        return unanswered(method, error)
    answer = error.response
    if answer.status_code == http.HTTPStatus.TOO_MANY_REQUESTS:
        seconds = _retry_after(answer)
        return refused(method, RATE_LIMITED, retry_after_seconds=seconds)
    code = str(answer.get("error", ""))
    if answer.status_code >= http.HTTPStatus.INTERNAL_SERVER_ERROR or not _CODE.fullmatch(code):
        return refused(method, SERVER_ERROR)
    return refused(method, code, channel, detail=_detail(answer))


def _detail(answer: SlackResponse) -> str:
    """Slack's reasons for rejecting blocks."""
    said = (answer.get("response_metadata") or {}).get("messages") or ()
    return " ".join(map(str, said))[:_LONGEST_DETAIL]


def _retry_after(answer: SlackResponse) -> float:
    given = {name.lower(): value for name, value in answer.headers.items()}.get("retry-after", "")
    return float(given) if given.isdigit() else 30.0


def _scopes(answer: SlackResponse) -> frozenset[str]:
    given = {name.lower(): value for name, value in answer.headers.items()}
    listed = given.get("x-oauth-scopes", "").split(",")
    return frozenset(scope.strip() for scope in listed if scope.strip())


def _never_sent(error: Exception) -> bool:
    reason: object = error
    if isinstance(error, URLError):
        reason = error.reason
    elif isinstance(error, ProxyError):
        reason = error.original_error
    return isinstance(reason, ConnectionRefusedError | socket.gaierror | ConnectTimeoutError)


def _hint(code: str, channel: str) -> str:
    if code in _NEEDS_INVITATION:
        where = f"<#{channel}>" if channel else "the channel"
        return f"Type `/invite @Quartermaster` in {where}."
    return _HINTS.get(code, "")


def _form(value: object) -> object:
    return json.dumps(value) if isinstance(value, dict | list) else value
