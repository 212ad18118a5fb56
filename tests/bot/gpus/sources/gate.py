"""Strict servers that clouds keep before their Prometheus: a real one behind answers the rest."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlsplit
from urllib.request import Request, urlopen

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from typing_extensions import override

ACCESS_KEY, SECRET_KEY = "AKIDEXAMPLE", "a-secret-of-twenty-four-signs"
IDENTITY_HEADER = "who-asks-for-tokens"
_LATEST = timedelta(minutes=5)
_SERVICE = "aps"

# Whether a request, with its address and body, is let in.
Guard = Callable[[Mapping[str, str], str, bytes], bool]


class Gate:
    """Lets requests through to a Prometheus; `busy` of them are told to come back later."""

    def __init__(self, behind: str) -> None:
        self.behind = behind
        self.url = ""
        self.guard: Guard = lambda _headers, _url, _body: True
        self.busy = 0
        self.asked: list[str] = []
        self.tokens: dict[str, str] = {}

    def knows_token(self, headers: Mapping[str, str], _url: str, _body: bytes) -> bool:
        """Whether it is a token of this gate's own identity service, for the right scope."""
        word = headers.get("Authorization", "").removeprefix("Bearer ")
        return self.tokens.get(word) == "https://prometheus.monitor.azure.com"

    def give_token(self, query: str) -> dict[str, str]:
        """What an identity service answers."""
        word = f"token-{len(self.tokens)}"
        self.tokens[word] = parse_qs(query)["resource"][0]
        expires = datetime.now(UTC) + timedelta(hours=12)
        return {"access_token": word, "expires_on": f"{expires.timestamp():.0f}"}


def is_signed(region: str, session_token: str | None = None) -> Guard:
    """Whether it is signed with the keys, for that region, now, and as it arrived."""

    def guard(headers: Mapping[str, str], url: str, body: bytes) -> bool:
        kind, _, told = headers.get("Authorization", "").partition(" ")
        parts = dict(each.strip().split("=", 1) for each in told.split(",") if "=" in each)
        date = headers.get("X-Amz-Date", "")
        if kind != "AWS4-HMAC-SHA256" or not date:
            return False
        asked_at = datetime.strptime(date, "%Y%m%dT%H%M%S%z")
        known = {name.lower(): value for name, value in headers.items()}
        signed = {name: known[name] for name in parts["SignedHeaders"].split(";")}
        request = AWSRequest("POST", url, headers=signed, data=body)
        request.context["timestamp"] = date
        keys = Credentials(ACCESS_KEY, SECRET_KEY, session_token)
        auth = SigV4Auth(keys, _SERVICE, region)
        text = auth.string_to_sign(request, auth.canonical_request(request))
        return (
            abs(datetime.now(UTC) - asked_at) < _LATEST
            and {"host", "x-amz-date"} <= signed.keys()
            and parts["Credential"] == auth.scope(request)
            and parts["Signature"] == auth.signature(text, request)
            and headers.get("X-Amz-Security-Token") == session_token
        )

    return guard


class _Handler(BaseHTTPRequestHandler):
    gate: Gate

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        if self.headers["X-IDENTITY-HEADER"] != IDENTITY_HEADER:
            self._answer(401, {"error": "who are you?"})
            return
        self._answer(200, self.gate.give_token(address.query))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.gate.asked.append(self.path)
        if not self.gate.guard(
            dict(self.headers), f"http://{self.headers['Host']}{self.path}", body
        ):
            self._answer(403, {"message": "Missing Authentication Token"})
        elif self.gate.busy:
            self.gate.busy -= 1
            self._answer(429, {"message": "Too many requests"}, {"Retry-After": "90"})
        else:
            self._pass_on(body)

    def _pass_on(self, body: bytes) -> None:
        content = {"Content-Type": self.headers["Content-Type"]}
        try:
            with urlopen(Request(f"{self.gate.behind}{self.path}", body, content)) as answer:
                self._answer(200, json.load(answer))
        except HTTPError as error:
            self._answer(error.code, {"status": "error", "error": str(error.reason)})

    def _answer(self, status: int, said: Any, more: Mapping[str, str] | None = None) -> None:
        body = json.dumps(said).encode()
        self.send_response(status)
        for name, value in {**(more or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    @override
    def log_message(self, format: str, *arguments: object) -> None:
        """Says nothing."""


@contextmanager
def gate_before(behind: str) -> Iterator[Gate]:
    """A gate before a Prometheus, while the block lasts."""
    gate = Gate(behind)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"gate": gate}))
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    gate.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield gate
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
