"""A control plane on loopback: Kubernetes, Kueue and KWOK, with the bot's rights as deployed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx

from playground.loopback import reserved_port
from tests.cluster import kubernetes
from tests.cluster.api import Api, Object, wait_for
from tests.cluster.building import Built
from tests.cluster.kueue import Kueue
from tests.cluster.kwok import Kwok
from tests.cluster.processes import Processes
from tests.cluster.provisioner import Provisioner
from tests.cluster.rights import BOT, BOT_USER, deploy

LOOPBACK = "127.0.0.1"
_BOT_DAYS = 86_400
_VISIBILITY, _REMEMBERED = "visibility.kueue.x-k8s.io", timedelta(seconds=15)
_API_SERVER = "kube-apiserver"
_PORTS = 7
_DEPLOYED = (
    "00-namespace.yaml",
    "10-access.yaml",
    "15-kai.yaml",
    "16-no-engine.yaml",
    "19-confinement.yaml",
)
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
# Those that operators serve are there before Kueue starts, which else takes its time for them.
_DEFINED = ("kueue", "kwok", "snapshots", "jobset", "mpi", "trainer", "training", "ray")


_DECISION = "authorization.k8s.io/decision"


@dataclass(frozen=True)
class Audited:
    """One request as the API server's audit log tells it."""

    user: str
    verb: str
    group: str
    resource: str  # with its subresource: "pods/log"
    namespace: str
    name: str
    status: int
    is_allowed: bool  # by its rights; admission, such as a ResourceQuota, may refuse it after that
    agent: str
    at: datetime  # in UTC


class ControlPlane:
    """A cluster of one's own; `running` starts and ends one."""

    is_own = True

    def __init__(
        self, built: Built, processes: Processes, ports: Sequence[int], address: str = LOOPBACK
    ) -> None:
        self._built = built
        self._processes = processes
        self._etcd_ports, self._port, kwok = ports[:2], ports[2], ports[3]
        self.address = address
        self.url = f"https://{address}:{self._port}"
        self.folder = processes.folder
        self.kubeconfig = self.folder / "admin.kubeconfig"
        self.bot_kubeconfig = self.folder / "bot.kubeconfig"
        kubernetes.write_files(self.folder, self.url)
        self.api = Api.to(self.kubeconfig)
        self.kueue = Kueue(self.api, built, processes, (ports[4], ports[5], ports[6]))
        self.kwok = Kwok(self.api, built, processes, kwok)
        self.provisioner = Provisioner(self.api)
        self._launched = datetime.now(UTC)
        self._starts: list[tuple[datetime, datetime]] = []

    def start(self) -> None:
        """Starts everything; returns when Jobs can be queued and pods can run."""
        client, peer = self._etcd_ports
        self._processes.start("etcd", self._built.program("server"), *kubernetes.etcd(client, peer))
        self.start_api_server()
        for name, arguments in (
            ("kube-controller-manager", kubernetes.controller_manager()),
            ("kube-scheduler", kubernetes.scheduler()),
        ):
            self._processes.start(name, self._built.program(name), *arguments)
        self._define(*_DEFINED)
        self.provisioner.start()
        self.kwok.start()
        self.kueue.install()
        self.kueue.configure()
        self._admit_bot()

    def start_api_server(self) -> None:
        """Starts the API server, again if it was stopped; returns when it is ready."""
        self.launch_api_server()
        self.wait_until_it_answers()

    def launch_api_server(self) -> None:
        """Starts the API server; it is ready some seconds later."""
        self._launched = datetime.now(UTC)
        arguments = kubernetes.api_server(self.address, self._port, self._etcd_ports[0])
        self._processes.start(_API_SERVER, self._built.program(_API_SERVER), *arguments)

    def wait_until_it_answers(self) -> None:
        """Returns when the API server is ready."""
        wait_for(self._is_ready, "the API server")
        self._starts.append((self._launched, datetime.now(UTC)))

    def stop_api_server(self) -> None:
        """Kills the API server; etcd keeps everything until it is started again."""
        self._processes.kill(_API_SERVER)

    def was_refused_in_starting(self, asked: Audited) -> bool:
        """Whether who was to decide knew no roles yet: the API server, or Kueue of what waits.

        Kueue asks the API server who may see that, and remembers its refusals for ten seconds.
        """
        starts, remembered = self._starts, timedelta(0)
        if asked.group == _VISIBILITY:
            starts, remembered = [*starts, *self.kueue.starts], _REMEMBERED
        return any(launched <= asked.at <= ready + remembered for launched, ready in starts)

    def run(self, name: str, *command: str, environment: Mapping[str, str] | None = None) -> None:
        """Starts a program beside the control plane's own, in its folder; it ends with them."""
        self._processes.start(name, *command, environment=environment)

    def end(self, name: str) -> None:
        """Kills a program that `run` started."""
        self._processes.kill(name)

    def log_tail(self, name: str) -> str:
        """The end of what a program said, by its name (kueue, kwok, kube-apiserver, ...)."""
        return self._processes.log_tail(name)

    def audited(self, user: str = BOT_USER) -> list[Audited]:
        """The requests of a user so far, the bot's unless another is named."""
        with (self.folder / "audit.log").open(encoding="utf-8") as log:
            events = [json.loads(line) for line in log if user in line and line.endswith("\n")]
        found = (_audited(event) for event in events if "objectRef" in event)
        return [each for each in found if each.user == user]

    def _is_ready(self) -> bool:
        ended = self._processes.ended()
        assert ended is None, ended
        try:
            return self.api.client.get("/readyz").is_success
        except httpx.TransportError:
            return False

    def _define(self, *names: str) -> None:
        """Adds resource definitions, folders of `Built.manifests`; returns when served."""
        paths = [path for name in names for path in self._built.manifests(f"crds/{name}")]
        with ThreadPoolExecutor(4) as pool:
            defined = set(pool.map(self._defined, paths))
        wait_for(lambda: all(map(self.api.serves, defined)), "the resource definitions")

    def _defined(self, path: Path) -> str:
        request = {"content": path.read_bytes(), "headers": {"Content-Type": "application/yaml"}}
        name: str = self.api.ask("POST", _CRDS, **request)["metadata"]["name"]
        return name

    def _admit_bot(self) -> None:
        """Applies what deploy/ lets the bot do; the bot's token is its service account's."""
        for name in _DEPLOYED:
            deploy(self.api, name)
        path = f"/api/v1/namespaces/{BOT}/serviceaccounts/{BOT}/token"
        asked = self.api.ask("POST", path, json={"spec": {"expirationSeconds": _BOT_DAYS}})
        kubernetes.write_kubeconfig(self.bot_kubeconfig, self.url, asked["status"]["token"])


@contextmanager
def running(built: Built, address: str = LOOPBACK) -> Iterator[ControlPlane]:
    """A control plane that has started; nothing of it is left after the block.

    Nodes that are real reach the API server at an address that is not loopback.
    """
    with ExitStack() as held:
        processes = Processes()
        held.callback(processes.close)
        ports = [held.enter_context(reserved_port()) for _ in range(_PORTS)]
        plane = ControlPlane(built, processes, ports, address)
        try:
            plane.start()
            yield plane
        finally:
            plane.provisioner.stop()
            plane.api.close()


def _audited(event: Object) -> Audited:
    reference = event["objectRef"]
    parts = (reference.get("resource", ""), reference.get("subresource"))
    return Audited(
        user=event["user"]["username"],
        verb=event["verb"],
        group=reference.get("apiGroup", ""),
        resource="/".join(part for part in parts if part),
        namespace=reference.get("namespace", ""),
        name=reference.get("name", ""),
        status=event.get("responseStatus", {}).get("code", 0),
        is_allowed=event.get("annotations", {}).get(_DECISION) == "allow",
        agent=event.get("userAgent", ""),
        at=datetime.fromisoformat(event["requestReceivedTimestamp"]),
    )
