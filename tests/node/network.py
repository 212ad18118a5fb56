"""The network of real nodes: a bridge of this machine's own, and a network namespace for each node.

Nothing leads from it to the outside. Sessions that run at the same time have networks of their own:
number N has 10.N.0.0/24 for the bridge (.1) and the nodes (.11, .12, ...), and 10.N.M.0/24 for the
pods of node M.
"""

import fcntl
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_NAME = "quartermaster"
_NUMBERS = range(232, 241)
_LOCKS = Path("/run")
_SECONDS = 30


class NetworkError(Exception):
    """The machine does not let us make networks; the text says what it answered."""


@dataclass(frozen=True)
class Network:
    """A bridge and the namespaces of nodes, which are counted from 1; `claimed` gives one."""

    number: int

    @property
    def gateway(self) -> str:
        """The address of the bridge, at which nodes and pods reach this machine."""
        return f"10.{self.number}.0.1"

    def namespace(self, node: int) -> str:
        """The name of a node's network namespace, as `ip netns` knows it."""
        return f"qm{self.number}-{node}"

    def address(self, node: int) -> str:
        """The address of a node."""
        return f"10.{self.number}.0.{10 + node}"

    def pods(self, node: int) -> str:
        """The addresses of a node's pods."""
        return f"10.{self.number}.{node}.0/24"

    def inside(self, node: int) -> tuple[str, ...]:
        """The words before a command that is to run in a node's network."""
        return ("nsenter", f"--net=/run/netns/{self.namespace(node)}")

    def make(self, count: int) -> None:
        """Makes the bridge and the namespaces of nodes 1 to `count`."""
        self.remove()
        _ip("link", "add", self._bridge, "type", "bridge")
        _ip("address", "add", f"{self.gateway}/24", "dev", self._bridge)
        _ip("link", "set", self._bridge, "up")
        for node in range(1, count + 1):
            self._connect(node)
            _ip("route", "add", self.pods(node), "via", self.address(node))
            _run(*self.inside(node), "sysctl", "-qw", "net.ipv4.ip_forward=1")
            for other in range(1, count + 1):
                if other != node:
                    route = ("route", "add", self.pods(other), "via", self.address(other))
                    _run(*self.inside(node), "ip", *route)

    def remove(self) -> None:
        """Removes all of it, also what a session that was killed left of the same number."""
        # A namespace lives on while a process in it does, and its interface with it.
        for link in _ip("-brief", "link", "show").splitlines():
            name = link.split()[0].partition("@")[0]
            if name == self._bridge or name.startswith(f"{self._bridge}n"):
                _ip("link", "delete", name)
        for name in _ip("netns", "list").split():
            if name.startswith(f"{self._bridge}-"):
                _ip("netns", "delete", name)

    @property
    def _bridge(self) -> str:
        return f"qm{self.number}"

    def _connect(self, node: int) -> None:
        """Makes a node's namespace with an interface `eth0` that is on the bridge."""
        name, outer = self.namespace(node), f"{self._bridge}n{node}"
        _ip("netns", "add", name)
        _ip("link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", name)
        _ip("link", "set", outer, "master", self._bridge, "up")
        inside = self.inside(node)
        _run(*inside, "ip", "address", "add", f"{self.address(node)}/24", "dev", "eth0")
        for interface in ("lo", "eth0"):
            _run(*inside, "ip", "link", "set", interface, "up")
        _run(*inside, "ip", "route", "add", "default", "via", self.gateway)


@contextmanager
def claimed() -> Iterator[Network]:
    """A network that no other session of this machine has; NetworkError when all are taken."""
    for number in _NUMBERS:
        with (_LOCKS / f"{_NAME}-network-{number}.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield Network(number)
            return
    raise NetworkError(f"{len(_NUMBERS)} sessions with nodes run on this machine already.")


def _ip(*arguments: str) -> str:
    return _run("ip", *arguments)


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)
    if done.returncode:
        raise NetworkError(f"{_spelled(command)}: {done.stderr.strip()}")
    return done.stdout


def _spelled(command: Sequence[str]) -> str:
    return " ".join(command)
