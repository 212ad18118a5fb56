"""The object store of the playground and of the tests."""

import re
import subprocess
from pathlib import Path

from playground.seaweed import seaweed


def test_nothing_stays_outside_of_its_folder(tmp_path: Path) -> None:
    with seaweed(tmp_path / "store") as server:
        shown = ["ps", "-ww", "-o", "args=", "-p", f"{server.pid}"]
        command = subprocess.run(shown, check=True, capture_output=True, text=True, timeout=60)
        ports = re.findall(r"-(\w+)\.port\.grpc=(\d+)", command.stdout)
        # Other servers' sockets are there too: only its own may be looked for, by kind and port.
        sockets = [Path(f"/tmp/seaweedfs-{kind}-grpc-{port}.sock") for kind, port in ports]  # noqa: S108
        assert any(socket.exists() for socket in sockets)
    assert len(sockets) == 4
    assert [socket for socket in sockets if socket.exists()] == []
    assert any((tmp_path / "store" / "logs").iterdir())
