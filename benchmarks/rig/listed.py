"""An S3 server that lists objects which it does not have, and keeps those that are put."""

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from typing_extensions import override

_PAGE = 1000
_OBJECT = (
    "<Contents><Key>{key}</Key><LastModified>2026-11-22T00:00:00.000Z</LastModified>"
    "<ETag>&quot;{etag:032x}&quot;</ETag><Size>{size}</Size>"
    "<StorageClass>STANDARD</StorageClass></Contents>"
)


@contextlib.contextmanager
def listed(objects: int) -> Iterator[str]:
    """The endpoint of a bucket with so many objects in folders of a thousand."""

    class Handler(_Handler):
        count = objects
        kept: dict[str, bytes] = {}  # noqa: RUF012  # one server, one store

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    count: int
    kept: dict[str, bytes]

    @override
    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:  # the library's name
        """A page of the listing, or what was put."""
        url = urlsplit(self.path)
        asked = parse_qs(url.query, keep_blank_values=True)
        if "list-type" in asked:
            first = int(asked.get("continuation-token", ["0"])[0])
            self._answer(_page(first, min(first + _PAGE, self.count), self.count))
        elif "versioning" in asked:
            self._answer(b"<VersioningConfiguration/>")
        else:
            self._answer(self.kept[url.path])

    def do_PUT(self) -> None:  # the library's name
        """Keeps an object."""
        self.kept[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(b"")

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _page(first: int, last: int, count: int) -> bytes:
    more = "true" if last < count else "false"
    objects = "".join(
        _OBJECT.format(key=f"{n // 1000:06}/IMG_{n:09}.JPEG", etag=n * n, size=100_000 + n % 50_000)
        for n in range(first, last)
    )
    return (
        f"<ListBucketResult><IsTruncated>{more}</IsTruncated>"
        f"<NextContinuationToken>{last}</NextContinuationToken>{objects}</ListBucketResult>"
    ).encode()
