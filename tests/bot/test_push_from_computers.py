"""`quartermaster dataset push` and `quartermaster receive` as processes, on a real store."""

import os
import pty
import signal
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typing_extensions import override

from bot.datasets.worker.presigned.messages import Grant, spelled, stored_grant
from tests.bot.datasets.worker.test_certificates import OPENSSL
from tests.bot.datasets.worker.workers import ROOT, command, said
from tests.object_stores import Lake

EXPIRED = [
    (
        "quartermaster: The store no longer accepts this grant: it has expired, or the clock of"
        " this computer is wrong."
    ),
    "Click Get the command on the card in Slack again.",
]
NO_GRANT = (
    "quartermaster: This is not an upload grant, or only a part of one.\n"
    "Type /dataset put in Slack, then click Get the command on the card, and copy all of the"
    " word that starts with qmput1.\n"
)
STOPPED = (
    "quartermaster: The push was stopped, or its pod was moved to another node.\n"
    "Files that have arrived stay. Click Get the command on the card again if it is there;"
    " otherwise use /dataset put again.\n"
)
FILES = {"train/1.png": b"1" * 3000, "train/2.png": b"2" * 2000, "labels.csv": b"a,b\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder on a computer."""
    for key, content in FILES.items():
        (tmp_path / "xray" / key).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "xray" / key).write_bytes(content)
    return tmp_path / "xray"


@pytest.fixture
def worker(lake: Lake) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """A worker that receives files for `set/` of a bucket."""
    bucket = lake.bucket()
    words = (
        *("receive", "--target", f"s3://{bucket}/set/", "--target-store", lake.store()),
        *("--box", f"s3://{bucket}/box/", "--box-store", lake.store()),
    )
    with subprocess.Popen(command(*words), cwd=ROOT, stdout=subprocess.PIPE) as process:
        try:
            yield bucket, process
        finally:
            process.terminate()


def granted(lake: Lake, bucket: str) -> str:
    """The grant as people copy it, once it is there."""
    pause = threading.Event()
    while True:
        found = lake.client.list_objects_v2(Bucket=bucket, Prefix="box/grant.json")
        if found["KeyCount"]:
            return spelled(stored_grant(lake.get(bucket, "box/", "grant.json")))
        pause.wait(0.05)


def pushed(
    folder: Path, environment: dict[str, str], *more: str
) -> "subprocess.CompletedProcess[str]":
    """Runs the command to its end."""
    return subprocess.run(
        command("dataset", "push", str(folder), *more),
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_folder_is_pushed_by_a_grant(
    lake: Lake, worker: tuple[str, "subprocess.Popen[bytes]"], folder: Path
) -> None:
    bucket, process = worker
    grant = granted(lake, bucket)
    done = pushed(folder, {"QUARTERMASTER_GRANT": grant})
    there = f"3 files, 5.0 kB, are in s3://{bucket}/set/ and verified"
    assert (done.returncode, done.stdout) == (0, f"{there}; 5.0 kB of them were uploaded now.\n")
    output, _ = process.communicate(timeout=30)
    lines = said(output.splitlines())
    assert (process.returncode, lines[0]["phase"], lines[-1] | {"seconds": 0}) == (
        0,
        "waiting",
        {
            "event": "done",
            "phase": "verifying",
            "objects": 3,
            "bytes": 5004,
            "seconds": 0,
            "copied_files": 3,
            "copied_bytes": 5004,
            "verified_by": {"md5": 3},
            "verified_bytes": {"md5": 5004},
            "links": {"count": 0, "first": []},
            "others": 0,
        },
    )
    # What the worker and the command print has neither the grant nor its parts.
    assert "X-Amz" not in output.decode() + done.stdout + done.stderr
    for key, content in FILES.items():
        assert lake.get(bucket, "set/", key) == content


def test_an_ended_worker_takes_its_grant_back(
    lake: Lake, worker: tuple[str, "subprocess.Popen[bytes]"], folder: Path
) -> None:
    bucket, process = worker
    grant = granted(lake, bucket)
    process.terminate()
    process.communicate(timeout=30)
    names = [each["Key"] for each in lake.client.list_objects_v2(Bucket=bucket)["Contents"]]
    assert (process.returncode, names) == (75, ["box/answer.json.gz"])
    done = pushed(folder, {"QUARTERMASTER_GRANT": grant})
    assert (done.returncode, done.stderr) == (1, STOPPED)


@pytest.mark.parametrize("word", ["", "xray", "qmput1.", "qmput1.AAAA", "qmput1.%"])
def test_what_is_no_grant_is_refused(folder: Path, word: str) -> None:
    done = pushed(folder, {"QUARTERMASTER_GRANT": word})
    assert (done.returncode, done.stderr) == (1, NO_GRANT)


class _Refusing(BaseHTTPRequestHandler):
    @override
    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_PUT(self) -> None:  # the library's name
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(403)
        self.end_headers()


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[str]:
    """The grant of a store with TLS that refuses it; its CA is ca.crt, another is other.crt."""
    other = "openssl req -x509 -newkey rsa:2048 -noenc -keyout /dev/null -out other.crt -subj /CN=o"
    subprocess.run(
        ["sh", "-ec", f"{OPENSSL}{other}"],  # noqa: S607
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(tmp_path / "tls.crt", tmp_path / "tls.key")
    with ThreadingHTTPServer(("127.0.0.1", 0), _Refusing) as server:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        address = b"https://127.0.0.1:%d" % server.server_port
        yield spelled(
            stored_grant(
                b'{"target":"s3://lake/x/","listing":"%b/1","answer":"%b/2",'
                b'"expires_at":"2026-11-27T12:00:00Z"}' % (address, address)
            )
        )
        server.shutdown()
        thread.join()


def test_a_ca_file_is_trusted_besides_others(secure: str, folder: Path, tmp_path: Path) -> None:
    known = {"QUARTERMASTER_GRANT": secure, "SSL_CERT_FILE": str(tmp_path / "ca.crt")}
    done = pushed(folder, known, "--ca-file", str(tmp_path / "other.crt"))
    assert (done.returncode, done.stderr.splitlines()) == (1, EXPIRED)
    del known["SSL_CERT_FILE"]
    done = pushed(folder, known, "--ca-file", str(tmp_path / "other.crt"))
    assert "certificate of the object store is not trusted" in done.stderr
    done = pushed(folder, known, "--ca-file", str(folder / "labels.csv"))
    assert done.stderr.endswith("Name a PEM file, which has BEGIN CERTIFICATE.\n")


def test_an_interrupt_ends_the_command(folder: Path) -> None:
    """Threads that retry do not hold it up."""
    grant = stored_grant(
        b'{"target":"s3://lake/x/","listing":"http://127.0.0.1:9/1","answer":"http://127.0.0.1:9/2",'
        b'"expires_at":"2026-11-27T12:00:00Z"}'
    )
    with subprocess.Popen(
        command("dataset", "push", str(folder)),
        cwd=ROOT,
        env={"QUARTERMASTER_GRANT": spelled(grant)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith(b"Uploading: 0 of 3 files")
        process.send_signal(signal.SIGINT)
        _, words = process.communicate(timeout=10)
    assert (process.returncode, words) == (
        130, b"\nInterrupted. Repeat the command to push the rest.\n",
    )  # fmt: skip


def test_a_long_grant_can_be_pasted(lake: Lake, folder: Path) -> None:
    """Longer than the 4,096 letters after which a terminal cuts a line."""
    address = f"{lake.server.endpoint}/none/{os.urandom(500).hex()}?{os.urandom(4000).hex()}"
    moment = "2026-11-27T12:00:00Z"
    word = spelled(stored_grant(b'{"target":"s3://lake/x/","listing":"%b","answer":"%b",'
                                b'"expires_at":"%b"}' % (address.encode(), address.encode(),
                                                         moment.encode())))  # fmt: skip
    assert len(word) > 7000
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*command("dataset", "push", str(folder))],
        cwd=ROOT,
        env={},
        stdin=theirs,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        assert process.stderr is not None
        question = process.stderr.read(len("Paste the grant"))
        pieces = [word[at : at + 512] for at in range(0, len(word), 512)]
        for piece in (*pieces, "\n"):
            os.write(ours, piece.encode())
        _, complaints = process.communicate(timeout=90)
    finally:
        process.kill()
        os.close(ours)
        os.close(theirs)
    assert (question, complaints.decode().splitlines()[-2:]) == (b"Paste the grant", EXPIRED)


def test_grants_are_read_as_they_were_spelled() -> None:
    grant = stored_grant(
        b'{"target":"s3://lake/x/","listing":"https://a/1","answer":"https://a/2",'
        b'"expires_at":"2026-11-27T12:00:00Z"}'
    )
    assert (isinstance(grant, Grant), sys.getsizeof(spelled(grant)) < 300) == (True, True)
