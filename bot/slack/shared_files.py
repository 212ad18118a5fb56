"""Files that people shared in Slack: what Slack says of them, and spans of their content."""

import http
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

import urllib3
from urllib3.exceptions import HTTPError

from bot.errors import ChatError
from bot.slack.web_api import RATE_LIMITED, SERVER_ERROR, WebApi, count, refused, unanswered

DOWNLOAD = "file_download"
SIGN_IN_PAGE = "sign_in_page"
OTHER_SIZE = "other_size"
NOT_SLACK = "not_slack"
FILE_HOSTS = frozenset({"files.slack.com", "files.slack-gov.com"})
"""The hosts besides the API's own, where that is no host of Slack, which are sent the token."""

_SLACK = (".slack.com", ".slack-gov.com")
_CHUNK_BYTES = 64 << 10
_MOST_REDIRECTS = 3
_SPAN_SECONDS = 40.0
_TIMEOUT = urllib3.Timeout(connect=5, read=10)
_HTML = "text/html"


@dataclass(frozen=True)
class SharedFile:
    """A file as Slack describes it; `url` is where its content is, empty if Slack has none.

    `mode` is Slack's word for what it is: `hosted`, `snippet`, `external` and others. `uploader` is
    who shared it, `team` the workspace of that person; each is empty if Slack does not say it.
    """

    id: str
    name: str
    size: int
    mimetype: str
    mode: str
    url: str = ""
    uploader: str = ""
    team: str = ""
    service: str = ""
    is_hidden: bool = False


def shared_file(given: Mapping[str, Any]) -> SharedFile:
    """A file object of Slack; `mode` is `external` for what another service has."""
    access = str(given.get("file_access") or "visible")
    return SharedFile(
        id=str(given.get("id") or ""),
        name=str(given.get("name") or given.get("title") or ""),
        size=int(given.get("size") or 0),
        mimetype=str(given.get("mimetype") or ""),
        mode="external" if given.get("is_external") else str(given.get("mode") or ""),
        url=str(given.get("url_private_download") or given.get("url_private") or ""),
        uploader=str(given.get("user") or ""),
        team=str(given.get("user_team") or ""),
        service=str(given.get("external_type") or ""),
        is_hidden=access != "visible",
    )


class Downloads:
    """Reads the content of files, with the bot's token and from Slack's hosts alone.

    Slack shows a page to sign in, with status 200, where a token does not do; it may redirect from
    one of its hosts to another, which needs the token as well.
    """

    def __init__(
        self,
        api: WebApi,
        api_url: str,
        pool: urllib3.PoolManager,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api: Final = api
        self._pool: Final = pool
        self._monotonic: Final = monotonic
        at = urlsplit(api_url)
        is_slack = f".{at.hostname}".endswith(_SLACK)
        self._own_place: Final = None if is_slack else (at.scheme, at.netloc)

    def span(self, file: SharedFile, first: int, size: int) -> bytes:
        """`size` bytes of a file from `first` on; ChatError if they are not all there."""
        try:
            content = self._span(file, first, size)
        except (HTTPError, OSError) as error:
            failure = unanswered(DOWNLOAD, error)
            count(DOWNLOAD, failure.code)
            raise failure from error
        except ChatError as error:
            count(DOWNLOAD, error.code)
            raise
        count(DOWNLOAD, "ok")
        return content

    def _span(self, file: SharedFile, first: int, size: int) -> bytes:
        ends_at = self._monotonic() + _SPAN_SECONDS
        with self._opened(file, first, size) as answer:
            skipped = _skipped(file, answer, first)
            found, place = bytearray(), -skipped
            for chunk in answer.stream(_CHUNK_BYTES, decode_content=False):
                found += chunk[max(-place, 0) :][: size - len(found)]
                place += len(chunk)
                if len(found) == size:
                    return bytes(found)
                if self._monotonic() > ends_at:
                    raise _slow(file, len(found))
        raise _other_size(file, first + len(found))

    @contextmanager
    def _opened(
        self, file: SharedFile, first: int, size: int
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        """The response to the request for a span; closed, as the rest of it is not read."""
        url, headers = file.url, {"Accept-Encoding": "identity"}
        if first or size < file.size:
            headers["Range"] = f"bytes={first}-{first + size - 1}"
        for _ in range(_MOST_REDIRECTS + 1):
            answer = self._pool.request(
                "GET",
                url,
                headers=headers | {"Authorization": f"Bearer {self._allowed(file, url)}"},
                timeout=_TIMEOUT,
                retries=False,
                redirect=False,
                preload_content=False,
                decode_content=False,
            )
            try:
                if not answer.get_redirect_location():
                    _refuse(file, answer)
                    yield answer
                    return
                url = urljoin(url, str(answer.get_redirect_location()))
            finally:
                answer.close()
        raise _page(file)

    def _allowed(self, file: SharedFile, url: str) -> str:
        """The token, if the URL is one of Slack's for files."""
        at = urlsplit(url)
        is_slack = at.scheme == "https" and at.netloc in FILE_HOSTS
        if is_slack or (at.scheme, at.netloc) == self._own_place:
            return self._api.token
        # A page to sign in is at the workspace's own host.
        if f".{at.hostname}".endswith(_SLACK):
            raise _page(file)
        raise ChatError(
            f"Slack says that {file.name} is at another host, {at.hostname}, which is not asked.",
            code=NOT_SLACK,
        )


def _refuse(file: SharedFile, answer: urllib3.BaseHTTPResponse) -> None:
    """ChatError unless the response has the file."""
    if answer.status == http.HTTPStatus.TOO_MANY_REQUESTS:
        given = answer.headers.get("Retry-After", "")
        seconds = float(given) if given.isdigit() else 30.0
        raise refused(DOWNLOAD, RATE_LIMITED, retry_after_seconds=seconds)
    if answer.status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
        raise refused(DOWNLOAD, SERVER_ERROR)
    if answer.status in {http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.FORBIDDEN}:
        raise _page(file)
    if answer.status in {http.HTTPStatus.NOT_FOUND, http.HTTPStatus.GONE}:
        raise ChatError(f"Slack no longer has {file.name}.", code="file_not_found")
    if answer.status not in {http.HTTPStatus.OK, http.HTTPStatus.PARTIAL_CONTENT}:
        raise refused(DOWNLOAD, f"http_{answer.status}")
    kind = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind == _HTML and (file.mimetype != _HTML or _length(file, answer) != file.size):
        raise _page(file)


def _skipped(file: SharedFile, answer: urllib3.BaseHTTPResponse, first: int) -> int:
    """The bytes before the span, if the response has the file from its beginning."""
    length = _length(file, answer)
    if length != file.size:
        raise _other_size(file, length)
    if answer.status == http.HTTPStatus.OK:
        return first
    if not answer.headers.get("Content-Range", "").startswith(f"bytes {first}-"):
        raise refused(DOWNLOAD, "other_range")
    return 0


def _length(file: SharedFile, answer: urllib3.BaseHTTPResponse) -> int:
    """The size of the whole file by the response; what Slack said of it if that has none."""
    if answer.status == http.HTTPStatus.PARTIAL_CONTENT:
        given = answer.headers.get("Content-Range", "").rpartition("/")[2]
    else:
        given = answer.headers.get("Content-Length", "")
    return int(given) if given.isdigit() else file.size


def _page(file: SharedFile) -> ChatError:
    return ChatError(f"Slack returned a page to sign in instead of {file.name}.", code=SIGN_IN_PAGE)


def _other_size(file: SharedFile, found: int) -> ChatError:
    return ChatError(
        f"Slack says that {file.name} has {file.size:,} bytes, but sends {found:,}.",
        code=OTHER_SIZE,
    )


def _slow(file: SharedFile, found: int) -> ChatError:
    return ChatError(
        f"Slack sent {found:,} bytes of {file.name} within {_SPAN_SECONDS:.0f} s.", code="slow"
    )
