"""Google Cloud Storage on loopback, as its documentation describes the JSON and the XML API.

It checks what the real one checks: tokens and signatures, generations, preconditions, where a part
of an upload begins. Only what the program uses is there; another request gets a 501.
"""

import base64
import gzip
import hashlib
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import jwt
from awscrt import checksums
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from typing_extensions import override

EMAIL = "quartermaster@acme.iam.gserviceaccount.com"
_AUDIENCE = "https://oauth2.googleapis.com/token"
_CHUNK = 256 * 1024
_HOUR_SECONDS = 3600


class RefusedError(Exception):
    """An answer that is an error, as the JSON API words it."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


@dataclass
class Stored:
    """A generation of an object; a composed one has no MD5.

    One that `is_gzip` has Content-Encoding: gzip in its metadata, and is served decompressed to who
    does not accept that encoding.
    """

    content: bytes
    generation: str
    is_composed: bool = False
    is_gzip: bool = False

    def resource(self, name: str) -> dict[str, Any]:
        """The object as the JSON API describes it."""
        crc32c = checksums.crc32c(self.content).to_bytes(4, "big")
        found = {
            "name": name,
            "size": str(len(self.content)),
            "generation": self.generation,
            "etag": base64.b64encode(self.generation.encode()).decode(),
            "crc32c": base64.b64encode(crc32c).decode(),
        }
        if not self.is_composed:
            found["md5Hash"] = base64.b64encode(_md5(self.content).digest()).decode()
        return found

    @property
    def etag(self) -> str:
        """The ETag of the XML API: the MD5, where there is one."""
        return "-CJi0t" if self.is_composed else _md5(self.content).hexdigest()


@dataclass
class Session:
    """A resumable upload, and the object once it is complete."""

    bucket: str
    name: str
    only_new: bool
    received: bytearray = field(default_factory=bytearray)
    done: Stored | None = None


@dataclass
class CloudStorage:
    """The buckets of one project; `requests` are the methods and paths of all requests."""

    key: rsa.RSAPrivateKey
    endpoint: str = ""
    buckets: dict[str, dict[str, Stored]] = field(default_factory=dict)
    versioned: set[str] = field(default_factory=set)
    forbidden: set[str] = field(default_factory=set)
    older: dict[tuple[str, str, str], Stored] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    tokens: set[str] = field(default_factory=set)
    requests: list[str] = field(default_factory=list)
    clock_offset_seconds: float = 0.0
    is_emulator: bool = False
    lock: threading.RLock = field(default_factory=threading.RLock)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1_700_000_000_000_000))

    def bucket(self) -> str:
        """The name of a new bucket."""
        name = f"lake_{next(self._numbers)}"
        self.buckets[name] = {}
        return name

    def put(
        self,
        bucket: str,
        name: str,
        content: bytes,
        *,
        only_new: bool = False,
        is_composed: bool = False,
        is_gzip: bool = False,
    ) -> Stored:
        """Stores an object as a new generation."""
        with self.lock:
            found = self.buckets[bucket].get(name)
            if found is not None and only_new:
                raise RefusedError(412, "conditionNotMet")
            if found is not None and bucket in self.versioned:
                self.older[bucket, name, found.generation] = found
            stored = Stored(content, str(next(self._numbers)), is_composed, is_gzip)
            self.buckets[bucket][name] = stored
            return stored

    def get(self, bucket: str, name: str, generation: str | None = None) -> Stored:
        """The object, or an earlier generation of it."""
        found = self._bucket(bucket).get(name)
        if generation is not None and (found is None or found.generation != generation):
            found = self.older.get((bucket, name, generation))
        if found is None:
            raise RefusedError(404, "notFound")
        return found

    def page(self, bucket: str, query: Mapping[str, str]) -> dict[str, Any]:
        """A page of a listing in the order of the names' bytes."""
        names = sorted(self._bucket(bucket), key=str.encode)
        begin = base64.b64decode(query.get("pageToken", "")).decode()
        names = [each for each in names if each.startswith(query.get("prefix", ""))]
        names = [each for each in names if not begin or each.encode() >= begin.encode()]
        most = int(query.get("maxResults", "1000"))
        answer: dict[str, Any] = {"kind": "storage#objects"}
        if shown := names[:most]:
            answer["items"] = [self.buckets[bucket][each].resource(each) for each in shown]
        if names[most:]:
            answer["nextPageToken"] = base64.b64encode(names[most].encode()).decode()
        return answer

    def remove(self, bucket: str, name: str) -> None:
        """Deletes an object."""
        self.get(bucket, name)
        del self.buckets[bucket][name]

    def token(self, assertion: str) -> str:
        """An access token for a signed assertion of the service account."""
        try:
            claims = jwt.decode(
                assertion,
                self.key.public_key(),
                algorithms=["RS256"],
                audience=_AUDIENCE,
                options={"verify_exp": False, "verify_iat": False},
            )
        except jwt.InvalidTokenError as error:
            raise RefusedError(400, "Invalid JWT Signature.") from error
        now = time.time() + self.clock_offset_seconds
        if not claims["iat"] - 300 <= now <= claims["exp"] <= claims["iat"] + _HOUR_SECONDS:
            words = "Invalid JWT: Token must be a short-lived token (60 minutes) and in a"
            raise RefusedError(400, f"{words} reasonable timeframe.")
        token = f"ya29.{next(self._numbers)}"
        self.tokens.add(token)
        return token

    def check(self, handler: "_Handler") -> None:
        """Refuses who is not known, or may not use the bucket."""
        if self.is_emulator:
            return
        query = dict(parse_qsl(urlsplit(handler.path).query))
        if "X-Goog-Signature" in query:
            self._check_signature(handler, query)
        elif handler.headers.get("Authorization", "").removeprefix("Bearer ") not in self.tokens:
            raise RefusedError(401, "authError")

    def _check_signature(self, handler: "_Handler", query: Mapping[str, str]) -> None:
        """Verifies a signed URL (V4)."""
        path = urlsplit(handler.path)
        signed = sorted((k, v) for k, v in query.items() if k != "X-Goog-Signature")
        asked = "&".join(f"{quote(k, safe='')}={quote(v, safe='')}" for k, v in signed)
        names = query["X-Goog-SignedHeaders"].split(";")
        headers = "".join(f"{name}:{handler.headers[name]}\n" for name in names)
        lines = [handler.command, path.path, asked, headers, ";".join(names), "UNSIGNED-PAYLOAD"]
        digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
        scope = query["X-Goog-Credential"].partition("/")[2]
        text = "\n".join([query["X-Goog-Algorithm"], query["X-Goog-Date"], scope, digest])
        try:
            self.key.public_key().verify(
                bytes.fromhex(query["X-Goog-Signature"]),
                text.encode(),
                padding.PKCS1v15(),
                hashes.SHA256(),
            )
        except InvalidSignature as error:
            raise RefusedError(403, "SignatureDoesNotMatch") from error

    def _bucket(self, name: str) -> dict[str, Stored]:
        if name in self.forbidden:
            raise RefusedError(403, "forbidden")
        if name not in self.buckets:
            raise RefusedError(404, "notFound")
        return self.buckets[name]

    def keys(self, folder: Path, key: rsa.RSAPrivateKey | None = None) -> Path:
        """A folder with key.json, the key of the service account or another one."""
        pem = (key or self.key).private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        told = {
            "type": "service_account",
            "private_key_id": "1",
            "private_key": pem.decode(),
            "client_email": EMAIL,
            "client_id": "1",
            "token_uri": f"{self.endpoint}/token",
        }
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "key.json").write_text(json.dumps(told))
        return folder


def new_key() -> rsa.RSAPrivateKey:
    """A key of a service account."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


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


def _md5(content: bytes) -> "hashlib._Hash":
    return hashlib.md5(content, usedforsecurity=False)
