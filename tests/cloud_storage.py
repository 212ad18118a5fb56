"""Google Cloud Storage on loopback, as its documentation describes the JSON and the XML API.

It checks what the real one checks: tokens and signatures, generations, preconditions, where a part
of an upload begins. Only what the program uses is there; another request gets a 501.
"""

import gzip
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from typing_extensions import override

from tests.cloud_objects import CloudStorage, RefusedError, Session, Stored, new_key

_CHUNK = 256 * 1024


@contextmanager
def cloud_storage() -> Iterator[CloudStorage]:
    """The server while the block lasts."""
    cloud = CloudStorage(new_key())
    handler = type("Handler", (_Handler,), {"cloud": cloud})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    cloud.endpoint = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield cloud
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    cloud: CloudStorage

    @override
    def log_message(self, format: str, *args: object) -> None:
        pass

    def _handle(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        place = urlsplit(self.path)
        self.query = dict(parse_qsl(place.query, keep_blank_values=True))
        self.cloud.requests.append(f"{self.command} {place.path}")
        is_xml = not place.path.startswith(("/storage/", "/upload/", "/token"))
        try:
            if place.path == "/token":
                assertion = dict(parse_qsl(self.body.decode()))["assertion"]
                self._json({"access_token": self.cloud.token(assertion), "expires_in": 3599})
                return
            self.cloud.check(self)
            with self.cloud.lock:
                self._xml(place.path) if is_xml else self._api(place.path)
        except RefusedError as error:
            self._refuse(error, place.path, is_xml=is_xml)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _handle  # noqa: N815 - the library's names

    def _refuse(self, error: RefusedError, path: str, *, is_xml: bool) -> None:
        told: Any = {"error": {"code": error.status, "errors": [{"reason": error.reason}]}}
        if path == "/token":
            told = {"error": "invalid_grant", "error_description": error.reason}
        if is_xml:
            body = f"<Error><Code>{error.reason}</Code></Error>".encode()
            self._answer(error.status, body, {"Content-Type": "application/xml"})
        else:
            self._json(told, error.status)

    def _api(self, path: str) -> None:
        parts = path.removeprefix("/upload").split("/")
        bucket = unquote(parts[4])
        if path.startswith("/upload/"):
            self._upload(bucket)
        elif len(parts) == 5 and self.command == "GET":
            self.cloud._bucket(bucket)
            self._json({"versioning": {"enabled": True}} if bucket in self.cloud.versioned else {})
        elif len(parts) == 6 and self.command == "GET":
            self._json(self.cloud.page(bucket, self.query))
        elif len(parts) == 7 and self.command == "DELETE":
            self.cloud.remove(bucket, unquote(parts[6]))
            self._answer(204, b"", {})
        elif len(parts) == 7 and self.command == "GET":
            name = unquote(parts[6])
            found = self.cloud.get(bucket, name, self.query.get("generation"))
            if self.query.get("alt") == "media":
                self._content(found)
            else:
                self._json(found.resource(name))
        else:
            raise RefusedError(501, "notImplemented")

    def _upload(self, bucket: str) -> None:
        self.cloud._bucket(bucket)
        only_new = self.query.get("ifGenerationMatch") == "0"
        if self.command == "PUT":
            self._part(self.cloud.sessions.get(self.query["upload_id"]))
        elif self.query["uploadType"] == "media":
            name = self.query["name"]
            self._json(self.cloud.put(bucket, name, self.body, only_new=only_new).resource(name))
        elif self.query["uploadType"] == "resumable":
            upload = f"up-{len(self.cloud.sessions)}"
            self.cloud.sessions[upload] = Session(bucket, self.query["name"], only_new)
            where = f"{self.cloud.endpoint}/upload/storage/v1/b/{bucket}/o?upload_id={upload}"
            self._answer(200, b"", {"Location": where})
        else:
            raise RefusedError(501, "notImplemented")

    def _part(self, session: Session | None) -> None:
        """Takes a part; bytes that have already arrived are ignored."""
        if session is None:
            raise RefusedError(404, "uploadNotFound")
        span, _, total = self.headers["Content-Range"].removeprefix("bytes ").partition("/")
        first, _, last = span.partition("-")
        size, place = int(total), len(session.received)
        is_end = int(last) + 1 == size
        if int(first) > place or (not is_end and len(self.body) % _CHUNK):
            raise RefusedError(400, "invalid")
        session.received += self.body[place - int(first) :] if not session.done else b""
        if len(session.received) < size:
            arrived = {"Range": f"bytes=0-{len(session.received) - 1}"}
            self._answer(308, b"", arrived)
            return
        if session.done is None:
            content = bytes(session.received)
            session.done = self.cloud.put(
                session.bucket, session.name, content, only_new=session.only_new
            )
        self._json(session.done.resource(session.name))

    def _xml(self, path: str) -> None:
        _, bucket, name = unquote(path).split("/", 2)
        if self.command == "PUT":
            self.cloud._bucket(bucket)
            only_new = self.headers.get("x-goog-if-generation-match") == "0"
            self._xml_stored(self.cloud.put(bucket, name, self.body, only_new=only_new))
        elif self.command == "GET":
            self._content(self.cloud.get(bucket, name, self.query.get("generation")))
        else:
            raise RefusedError(501, "NotImplemented")

    def _xml_stored(self, stored: Stored) -> None:
        told = {"ETag": f'"{stored.etag}"', "x-goog-generation": stored.generation}
        self._answer(200, b"", told)

    def _content(self, stored: Stored) -> None:
        headers = {
            "ETag": f'"{stored.etag}"',
            "x-goog-generation": stored.generation,
            "Last-Modified": "Wed, 25 Nov 2026 12:00:00 GMT",
        }
        if stored.is_gzip and "gzip" not in self.headers.get("Accept-Encoding", ""):
            self._in_chunks(gzip.decompress(stored.content), headers)
            return
        span = self.headers.get("Range", "").removeprefix("bytes=")
        if stored.is_gzip:
            headers["Content-Encoding"] = "gzip"
        if stored.is_gzip and not span:
            self._in_chunks(stored.content, headers)
            return
        if not span:
            self._answer(200, stored.content, headers)
            return
        first, _, last = span.partition("-")
        size = len(stored.content)
        end = min(int(last or size - 1), size - 1)
        headers["Content-Range"] = f"bytes {first}-{end}/{size}"
        self._answer(206, stored.content[int(first) : end + 1], headers)

    def _in_chunks(self, body: bytes, headers: Mapping[str, str]) -> None:
        """Answers without Content-Length; Range is ignored."""
        self.send_response(200)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))

    def _json(self, told: Mapping[str, Any], status: int = 200) -> None:
        self._answer(status, json.dumps(told).encode(), {"Content-Type": "application/json"})

    def _answer(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
