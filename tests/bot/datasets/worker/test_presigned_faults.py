"""Pushes from a computer where the store, the worker or another person gets in between."""

import contextlib
import random
import re
import socket
import socketserver
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
import urllib3
from typing_extensions import override

from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.parts import PART_BYTES
from bot.datasets.worker.presigned.sending import SendOrder, send
from bot.datasets.worker.progress import CopyProgress
from bot.datasets.worker.tree import Tree
from tests.bot.datasets.worker.computers import Computer
from tests.bot.datasets.worker.proxy import Exchange, proxied
from tests.bot.datasets.worker.pushes import Folder


@pytest.fixture
def computer(folder: Folder) -> Computer:
    """A computer with a few small files."""
    return Computer(folder)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "ExpiredToken"),
        (409, "ConditionalRequestConflict"),
        (400, "RequestTimeout"),
        (400, "BadDigest"),
    ],
)
def test_refused_requests_are_sent_again(computer: Computer, status: int, code: str) -> None:
    folder, refused = computer.folder, set[str]()

    def refuse(exchange: Exchange) -> None:
        key = exchange.path.partition("?")[0]
        if "/set/" in key and key not in refused:
            refused.add(key)
            exchange.answer(status, code)

    with (
        proxied(folder.lake.server.endpoint, before=refuse) as proxy,
        computer.received(public=proxy.endpoint) as worker,
    ):
        assert computer.push(worker.grant()).uploaded_bytes == 6001
        worker.result.result(10)
    assert (folder.stored() == folder.files(), len(refused)) == (True, 5)


def test_expired_token_of_a_grant_is_named(computer: Computer) -> None:
    def expire(exchange: Exchange) -> None:
        exchange.answer(400, "ExpiredToken")

    with (
        proxied(computer.folder.lake.server.endpoint, before=expire) as proxy,
        computer.received(public=proxy.endpoint) as worker,
        pytest.raises(WorkError) as failed,
    ):
        computer.push(worker.grant())
    assert (failed.value.reason, failed.value.hint) == (
        "no_access", "Click Get the command on the card in Slack again.",
    )  # fmt: skip


def test_a_command_after_the_end_says_so(computer: Computer) -> None:
    """As when a computer sleeps before it reads the last answer, and the command is repeated."""
    with computer.received() as worker:
        grant = worker.grant()
        computer.push(grant)
        worker.result.result(10)
        with pytest.raises(WorkError) as failed:
            computer.push(grant)
    assert (failed.value.message, failed.value.hint) == (
        "The push has ended: all files that were listed last have arrived.",
        "Use /dataset put again to push other files.",
    )


def test_unreadable_listings_end_the_command(computer: Computer) -> None:
    """As when the computer has another version of the program."""
    folder = computer.folder

    def damage(exchange: Exchange) -> None:
        if exchange.method == "GET" and "listing.json" in exchange.path:
            exchange.body = b"no listing"

    with proxied(folder.lake.server.endpoint, after=damage) as proxy:
        behind = replace(computer, endpoint=proxy.endpoint)
        with (
            behind.received(public=folder.lake.server.endpoint) as worker,
            pytest.raises(WorkError) as failed,
        ):
            computer.push(worker.grant())
    assert (failed.value.message, failed.value.hint) == (
        "The listing of the files cannot be read: Not a gzipped file (b'no').",
        "Use the same version of quartermaster on the computer as the bot has.",
    )


def test_parts_survive_a_store_in_trouble(computer: Computer, chance: random.Random) -> None:
    """S3 reports that it could not assemble the parts in a body with status 200."""
    folder, troubles = computer.folder, list[str]()
    folder.write({"large": chance.randbytes(PART_BYTES + 1)})

    def trouble(exchange: Exchange) -> None:
        if exchange.method == "POST" and "uploadId" in exchange.path and not troubles:
            troubles.append(exchange.path)
            exchange.answer(200, "InternalError")

    with proxied(folder.lake.server.endpoint, before=trouble) as proxy:
        behind = replace(computer, endpoint=proxy.endpoint)
        with behind.received(public=folder.lake.server.endpoint) as worker:
            assert computer.push(worker.grant()).uploaded_bytes == 6001 + PART_BYTES + 1
            worker.result.result(10)
    assert (folder.stored() == folder.files(), len(troubles)) == (True, 1)


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (400, "InvalidRequest", "1 files do not arrive in the store."),
        (501, "NotImplemented", "/set/large: 501 NotImplemented."),
    ],
)
def test_parts_that_never_become_objects_end_it(
    computer: Computer, chance: random.Random, status: int, code: str, words: str
) -> None:
    folder = computer.folder
    folder.write({"large": chance.randbytes(PART_BYTES + 1)})

    def refuse(exchange: Exchange) -> None:
        if exchange.method == "POST" and "uploadId" in exchange.path:
            exchange.answer(status, code)

    with proxied(folder.lake.server.endpoint, before=refuse) as proxy:
        behind = replace(computer, endpoint=proxy.endpoint)
        with (
            behind.received(public=folder.lake.server.endpoint) as worker,
            pytest.raises(WorkError) as failed,
        ):
            computer.push(worker.grant())
    assert failed.value.message.endswith(words)


def test_objects_that_never_verify_end_it(computer: Computer) -> None:
    """As in a store whose ETags are not MD5s, and which keeps no checksums."""
    folder = computer.folder

    def hide(exchange: Exchange) -> None:
        if "list-type=2" in exchange.path:
            exchange.body = re.sub(rb"[0-9a-f]{32}", b"0" * 32, exchange.body)
        for name in [each for each in exchange.headers if "sha256" in each.lower()]:
            del exchange.headers[name]

    with proxied(folder.lake.server.endpoint, after=hide) as proxy:
        behind = replace(computer, endpoint=proxy.endpoint)
        with (
            behind.received(public=folder.lake.server.endpoint, overwrite=True) as worker,
            pytest.raises(WorkError) as failed,
        ):
            computer.push(worker.grant())
    assert failed.value.message == "5 files do not arrive in the store."


def test_checksums_are_read_side_by_side(computer: Computer) -> None:
    """One after the other, those of 100,000 objects would take an hour."""
    folder, together = computer.folder, threading.Barrier(5)

    def encrypt(exchange: Exchange) -> None:
        if "list-type=2" in exchange.path:
            hashes = re.compile(rb"[0-9a-f]{32}")
            exchange.body = hashes.sub(lambda found: found.group()[::-1], exchange.body)
        if exchange.method == "HEAD" and "/set/" in exchange.path:
            together.wait(5)

    with proxied(folder.lake.server.endpoint, after=encrypt) as proxy:
        behind = replace(computer, endpoint=proxy.endpoint)
        with behind.received(public=folder.lake.server.endpoint) as worker:
            computer.push(worker.grant())
            assert worker.result.result(10).verified_by == {"checksum": 5}
    assert not together.broken


def test_a_grant_cannot_change_the_record(computer: Computer) -> None:
    with computer.received() as worker:
        grant = worker.grant()
        computer.push(grant)
        worker.result.result(10)
        record = worker.client.read(f"{worker.box}files.json.gz")
        answer = urllib3.request("PUT", grant.listing, body=b"forged", retries=False)
        assert answer.status == 200
        assert worker.client.read(f"{worker.box}files.json.gz") == record


@contextlib.contextmanager
def slow_line(endpoint: str) -> Iterator[str]:
    """An endpoint that takes about 4 MB/s, over as many connections as there are."""
    host, _, port = endpoint.removeprefix("http://").partition(":")

    class Line(socketserver.BaseRequestHandler):
        @override
        def handle(self) -> None:
            pause = threading.Event()
            with socket.create_connection((host, int(port))) as store:
                answers = threading.Thread(target=relayed, args=(store, self.request))
                answers.start()
                while block := self.request.recv(1 << 16):
                    store.sendall(block)
                    pause.wait(0.015)
                store.shutdown(socket.SHUT_WR)
                answers.join()

    class Lines(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Lines(("127.0.0.1", 0), Line, bind_and_activate=False) as line:
        line.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        line.server_bind()
        line.server_activate()
        thread = threading.Thread(target=line.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{line.server_address[1]}"
        line.shutdown()
        thread.join()


def relayed(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while block := source.recv(1 << 16):
            target.sendall(block)


def test_slow_lines_have_time_for_a_part(computer: Computer, chance: random.Random) -> None:
    """Each block of a part has the time-out of its own."""
    folder = computer.folder
    folder.write({"large": chance.randbytes(PART_BYTES)})
    with (
        slow_line(folder.lake.server.endpoint) as line,
        computer.received(public=line) as worker,
    ):
        grant = worker.grant()
        order = SendOrder(
            Tree(folder.root), grant, 1, 1.0, 30.0, poll_seconds=0.02, connect_seconds=0.5
        )
        send(order, CopyProgress("listing"))
        worker.result.result(10)
    assert folder.stored() == folder.files()
