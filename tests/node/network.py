"""The network of real nodes: a bridge of this machine's own, and a network namespace for each node.

Nothing leads from it to the outside. Addresses are 10.231.0.0/24 for the bridge (.1) and the nodes
(.11, .12, ...), and 10.231.N.0/24 for the pods of node N.
"""

import subprocess
from collections.abc import Sequence

BRIDGE = "quartermaster0"
GATEWAY = "10.231.0.1"
_NAMESPACE, _LINK = "quartermaster-", "quarterm-node"
_SECONDS = 30


class NetworkError(Exception):
    """The machine does not let us make networks; the text says what it answered."""


def namespace(number: int) -> str:
    """The name of a node's network namespace, as `ip netns` knows it."""
    return f"{_NAMESPACE}{number}"


def address(number: int) -> str:
    """The address of a node."""
    return f"10.231.0.{10 + number}"


def pods(number: int) -> str:
    """The addresses of a node's pods."""
    return f"10.231.{number}.0/24"


def make(count: int) -> None:
    """Makes the bridge and the namespaces of nodes 1 to `count`; what was left of others goes."""
    remove()
    _ip("link", "add", BRIDGE, "type", "bridge")
    _ip("address", "add", f"{GATEWAY}/24", "dev", BRIDGE)
    _ip("link", "set", BRIDGE, "up")
    for number in range(1, count + 1):
        _connect(number)
        _ip("route", "add", pods(number), "via", address(number))
        _inside(number, "sysctl", "-qw", "net.ipv4.ip_forward=1")
        for other in range(1, count + 1):
            if other != number:
                _inside(number, "ip", "route", "add", pods(other), "via", address(other))


def remove() -> None:
    """Removes the bridge and the namespaces, those of a session that was killed too."""
    # A namespace lives on while a process in it does, and its interface with it.
    for link in _ip("-brief", "link", "show").splitlines():
        name = link.split()[0].partition("@")[0]
        if name == BRIDGE or name.startswith(_LINK):
            _ip("link", "delete", name)
    for name in _ip("netns", "list").split():
        if name.startswith(_NAMESPACE):
            _ip("netns", "delete", name)


def _connect(number: int) -> None:
    """Makes a node's namespace with an interface `eth0` that is on the bridge."""
    name, outer = namespace(number), f"{_LINK}{number}"
    _ip("netns", "add", name)
    _ip("link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", name)
    _ip("link", "set", outer, "master", BRIDGE, "up")
    _inside(number, "ip", "address", "add", f"{address(number)}/24", "dev", "eth0")
    for interface in ("lo", "eth0"):
        _inside(number, "ip", "link", "set", interface, "up")
    _inside(number, "ip", "route", "add", "default", "via", GATEWAY)


def _inside(number: int, *command: str) -> None:
    _run("nsenter", f"--net=/run/netns/{namespace(number)}", *command)


def _ip(*arguments: str) -> str:
    return _run("ip", *arguments)


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)
    if done.returncode:
        raise NetworkError(f"{_spelled(command)}: {done.stderr.strip()}")
    return done.stdout


def _spelled(command: Sequence[str]) -> str:
    return " ".join(command)
