"""What is sent arrives however slowly, and what did not arrive is sent once more."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from typing_extensions import override

from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.stores.registry import connected, read_settings
from tests.bot.datasets.worker.proxy import Exchange, proxied
from tests.bot.datasets.worker.pushes import Folder
from tests.bot.datasets.worker.test_push_faults import of_put

_MIB = 1 << 20
# More than the kernel keeps for who reads slowly, and longer than connecting may take.
_CONTENT, _PAUSE_SECONDS = bytes(16 * _MIB), 0.5


class _Slow(BaseHTTPRequestHandler):
    """Takes a mebibyte after each pause."""

    took: list[int]

    @override
    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_PUT(self) -> None:
        left, pause = int(self.headers["Content-Length"]), threading.Event()
        while left:
            pause.wait(_PAUSE_SECONDS)
            found = len(self.rfile.read(min(left, _MIB)))
            if not found:
                return
            left -= found
            self.took.append(found)
        self.send_response(200)
        self.end_headers()


@contextmanager
def slow_store() -> Iterator[tuple[str, list[int]]]:
    """The address of a store behind a slow line, and what it has taken."""
    took = list[int]()
    handler = type("Handler", (_Slow,), {"took": took})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        server.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _MIB // 8)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", took
        finally:
            server.shutdown()
            thread.join()


def test_a_slow_line_takes_a_part(tmp_path: Path) -> None:
    for name in ("access-key-id", "secret-access-key"):
        (tmp_path / name).write_text("key")
    with slow_store() as (endpoint, took):
        told = {"endpoint": endpoint, "path_style": True, "credentials": str(tmp_path)}
        client = connected(read_settings(json.dumps(told), "--store"), "lake", 0.0)
        try:
            client.write("large", _CONTENT)
        finally:
            client.close()
    assert sum(took) == len(_CONTENT)


@pytest.mark.parametrize("code", ["RequestTimeout", "BadDigest"])
def test_what_did_not_arrive_goes_again(folder: Folder, code: str) -> None:
    content = bytes(8 * _MIB + 1)
    folder.write({"large": content})
    spoil = of_put("large", lambda exchange: exchange.answer(400, code), times=1)
    with proxied(folder.lake.server.endpoint, before=spoil) as proxy:
        assert folder.copy(proxy.endpoint).copied_files == 6
    assert (folder.stored()["large"], folder.unfinished()) == (content, [])


def test_a_token_that_expired_is_named(folder: Folder) -> None:
    def refuse(exchange: Exchange) -> None:
        exchange.answer(400, "ExpiredToken")

    with (
        proxied(folder.lake.server.endpoint, before=refuse) as proxy,
        pytest.raises(WorkError) as failed,
    ):
        folder.copy(proxy.endpoint)
    assert (failed.value.reason, failed.value.hint) == (
        "no_access",
        "The session token has expired. Put a new one into the store's Secret.",
    )
