"""What a Google Cloud Storage on loopback keeps and checks; cloud_storage.py serves it.

Tokens, signatures, generations and preconditions are as its documentation describes them.
"""

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import jwt
from awscrt import checksums
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

EMAIL = "quartermaster@acme.iam.gserviceaccount.com"
_AUDIENCE = "https://oauth2.googleapis.com/token"
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
            found["md5Hash"] = base64.b64encode(md5_of(self.content).digest()).decode()
        return found

    @property
    def etag(self) -> str:
        """The ETag of the XML API: the MD5, where there is one."""
        return "-CJi0t" if self.is_composed else md5_of(self.content).hexdigest()


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

    def check(self, request: BaseHTTPRequestHandler) -> None:
        """Refuses who is not known, or may not use the bucket."""
        if self.is_emulator:
            return
        query = dict(parse_qsl(urlsplit(request.path).query))
        if "X-Goog-Signature" in query:
            self._check_signature(request, query)
        elif request.headers.get("Authorization", "").removeprefix("Bearer ") not in self.tokens:
            raise RefusedError(401, "authError")

    def _check_signature(self, request: BaseHTTPRequestHandler, query: Mapping[str, str]) -> None:
        """Verifies a signed URL (V4)."""
        path = urlsplit(request.path)
        signed = sorted((k, v) for k, v in query.items() if k != "X-Goog-Signature")
        asked = "&".join(f"{quote(k, safe='')}={quote(v, safe='')}" for k, v in signed)
        names = query["X-Goog-SignedHeaders"].split(";")
        headers = "".join(f"{name}:{request.headers[name]}\n" for name in names)
        lines = [request.command, path.path, asked, headers, ";".join(names), "UNSIGNED-PAYLOAD"]
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


def md5_of(content: bytes) -> "hashlib._Hash":
    """The MD5 as objects have it."""
    return hashlib.md5(content, usedforsecurity=False)
