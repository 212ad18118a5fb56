"""The cluster as scenarios and tests hold it."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from playground.clock import VirtualClock
from playground.cluster.api.access import ADMIN, Rule, User
from playground.cluster.api.app import ClusterApp
from playground.cluster.api.serving import Server, write_kubeconfig
from playground.cluster.control.kubelet import STATIC
from playground.cluster.control.logs import LogOptions, read_log
from playground.cluster.control.programs import Programs
from playground.cluster.control.scheduler import drained_pods
from playground.cluster.control.training import Training
from playground.cluster.inside import Inside
from playground.cluster.nature import Nature
from playground.cluster.objects.deletion import DeleteOptions
from playground.cluster.objects.kinds import (
    CLUSTER_QUEUE,
    KUEUE,
    KUEUE_KINDS,
    NODE,
    POD,
    Kind,
    Object,
)
from playground.cluster.objects.operations import stamp
from playground.cluster.objects.patches import merge_patch
from playground.cluster.pacing import Pacing
from playground.ledger import Ledger

ADMIN_TOKEN = "playground-admin-token"  # noqa: S105 -- opens nothing but this playground
GPU = "nvidia.com/gpu"


class Cluster:
    """A Kubernetes API with everything behind it, and a hand inside for scenarios.

    What is done here is done by a stranger or by nature: it does not go through the ledger.
    """

    def __init__(
        self,
        clock: VirtualClock,
        ledger: Ledger | None = None,
        *,
        engine: str = "kueue",
    ) -> None:
        self.clock = clock
        self.engine = engine
        self.ledger = ledger or Ledger()
        self.inside = Inside(clock.now, engine)
        self.app = ClusterApp(self.inside, self.ledger)
        self.app.access.tokens[ADMIN_TOKEN] = ADMIN
        self.pacing = Pacing(self.inside, clock)
        self.faults = self.app.faults
        self.nature = Nature(self.inside)
        self.behaviours: dict[str, Training] = self.inside.behaviours
        self._server: Server | None = None

    async def start(self, port: int = 0) -> str:
        """Serves on loopback and keeps time; the URL of the API."""
        self._server = Server(self.app, port)
        await self._server.listen()
        self.pacing.start()
        self.programs.on_end = partial(self._tell_ended, asyncio.get_running_loop())
        return self._server.url

    async def stop(self) -> None:
        """Stops serving and keeping time."""
        self.programs.on_end = lambda: None
        self.programs.close()
        await self.pacing.stop()
        if self._server is not None:
            await self._server.stop()

    @property
    def programs(self) -> Programs:
        """The containers that really run."""
        return self.inside.kubelet.programs

    def go_down(self) -> None:
        """Stops listening and closes all connections; to be called in the server's loop."""
        if self._server is not None:
            self._server.refuse()

    @property
    def is_down(self) -> bool:
        """Whether it takes no connections."""
        return self._server is None or not self._server.is_listening

    async def come_up(self) -> None:
        """Listens again, on the same port."""
        if self._server is not None:
            await self._server.listen()

    def admit_bot(self, token: str, rules: Sequence[Rule] = (), name: str = "") -> None:
        """Knows a token as the bot's: its requests go through the ledger, its rights are rules."""
        user = name or "system:serviceaccount:quartermaster:quartermaster"
        groups = ("system:serviceaccounts", "system:authenticated")
        self.app.access.tokens[token] = User(user, groups, tuple(rules), watched=True)

    def let_kubectl_in(self) -> None:
        """Takes requests without a token for the administrator's.

        Over plain HTTP kubectl sends no token, whatever its configuration says.
        """
        self.app.access.anonymous = ADMIN

    def write_kubeconfig(self, path: Path, token: str = ADMIN_TOKEN) -> None:
        """Writes a kubeconfig for one token; the cluster must be serving."""
        if self._server is None:
            raise RuntimeError("the cluster does not serve yet")
        write_kubeconfig(path, self._server.url, token)

    def settle(self) -> None:
        """Brings everything to the present of the clock."""
        self.inside.settle()

    def next_event(self) -> datetime | None:
        """When the cluster will change by itself next, or None if it will not."""
        with self.inside.lock:
            self.inside.loop.settle()
            return self.inside.loop.next_event()

    async def until(self, holds: Callable[[], bool], timeout_seconds: float = 10) -> bool:
        """Whether something came to hold within (real) seconds; looked at after each change."""
        return await self.pacing.until(holds, timeout_seconds)

    def kind(self, plural: str) -> Kind:
        """The kind by its plural name (jobs, clusterqueues); KeyError for an unknown one."""
        found = next((kind for kind in self.inside.kinds if kind.plural == plural), None)
        if found is None:
            raise KeyError(plural)
        return found

    def get(self, plural: str, name: str, namespace: str = "") -> Object | None:
        """An object, not to be changed in place, or None."""
        with self.inside.lock:
            self.inside.loop.settle()
            return self.inside.store.get(self.kind(plural), namespace, name)

    def list(self, plural: str, namespace: str = "") -> list[Object]:
        """The objects of a kind, by name; not to be changed in place."""
        with self.inside.lock:
            self.inside.loop.settle()
            entries = self.inside.store.entries(self.kind(plural), namespace)
            return [entry.obj for entry in entries]

    def create(self, plural: str, body: Object, namespace: str = "") -> Object:
        """Creates an object as a stranger would; ApiError if it may not be so."""
        return self._write(
            lambda: self.inside.operations.create(self.kind(plural), namespace, body)
        )

    def patch(self, plural: str, name: str, change: Object, namespace: str = "") -> Object:
        """Lays a merge patch over an object."""

        def write() -> Object:
            key = (namespace, name)
            return self.inside.operations.patch(
                self.kind(plural), key, lambda obj: merge_patch(obj, change)
            )

        return self._write(write)

    def delete(self, plural: str, name: str, namespace: str = "") -> None:
        """Deletes an object with all that it owns."""

        def write() -> Object:
            options = DeleteOptions("Background")
            return self.inside.deletion.delete(self.kind(plural), (namespace, name), options)[0]

        self._write(write)

    def logs(self, pod: str, namespace: str, **options: Any) -> str:
        """What a pod has said; ApiError if it has not started."""
        with self.inside.lock:
            self.inside.loop.settle()
            inside, key = self.inside, (namespace, pod)
            now = inside.loop.present
            text = read_log(inside.store, inside.kubelet, key, LogOptions(**options), now)
            return text.decode()

    def set_quota(
        self, queue: str, value: str, resource: str = GPU, field: str = "nominalQuota"
    ) -> None:
        """Sets a quota (nominalQuota, borrowingLimit, lendingLimit) by hand, as a stranger."""

        def edit(obj: Object) -> Object:
            for group in obj["spec"]["resourceGroups"]:
                for flavor in group["flavors"]:
                    for row in flavor["resources"]:
                        if row["name"] == resource:
                            row[field] = value
            return obj

        self._write(lambda: self.inside.operations.patch(CLUSTER_QUEUE, ("", queue), edit))

    def drain(self, node: str) -> None:
        """Cordons a node and evicts its pods."""
        self.patch("nodes", node, {"spec": {"unschedulable": True}})
        with self.inside.lock:
            for key in drained_pods(self.inside.world, node):
                self.inside.evict(key, DeleteOptions())
            self.inside.loop.settle()

    def miss_image(self, image: str) -> None:
        """Says that no registry has an image."""
        self.inside.kubelet.missing_images.add(image)

    def set_image_user(self, image: str, user: str) -> None:
        """Says which user images run as whose names have this part; without it most are root's."""
        self.inside.kubelet.image_users = {image: user, **self.inside.kubelet.image_users}

    def publish_image(self, image: str) -> None:
        """Says that a registry has an image now."""
        with self.inside.lock:
            self.inside.kubelet.missing_images.discard(image)
            self.inside.kubelet.retry()
            self.inside.loop.settle()

    def install(self, *operators: str) -> None:
        """Installs operators by name, as in playground/cluster/operators/catalogue.py."""
        with self.inside.lock:
            for operator in operators:
                self.inside.install(operator)
            self.inside.loop.settle()

    def serve_kueue(self, *versions: str) -> None:
        """Serves Kueue's kinds in these versions only; none takes Kueue away altogether."""
        with self.inside.lock:
            if versions:
                self.inside.kinds.serve(KUEUE, versions)
                return
            self.inside.kueue_on = False
            for kind in KUEUE_KINDS:
                self.inside.kinds.forget(kind.group, kind.plural)

    def switch_kueue(self, *, on: bool) -> None:
        """Lets Kueue's controllers work or sleep; asleep, no Workload ever appears."""
        with self.inside.lock:
            self.inside.kueue_on = on

    def compact(self) -> None:
        """Forgets old versions, so that watches from them get 410 Gone."""
        with self.inside.lock:
            self.inside.store.compact()

    def forbid(self, verb: str, resource: str) -> None:
        """Takes one right, as "create" of "jobs", from the bot."""
        self.app.access.forbidden.add((verb, resource))

    def allow(self, verb: str, resource: str) -> None:
        """Gives back a right that was taken."""
        self.app.access.forbidden.discard((verb, resource))

    def add_pods(self, namespace: str, count: int, body: Object) -> None:
        """Adds many running pods nobody manages (for measurements), all with the same spec."""
        with self.inside.lock:
            for pod in self._static_pods(namespace, count, body):
                self.inside.store.put(POD, pod)
            self.inside.loop.settle()

    def _tell_ended(self, home: asyncio.AbstractEventLoop) -> None:
        home.call_soon_threadsafe(self._take_ended)

    def _take_ended(self) -> None:
        with self.inside.lock:
            self.inside.kubelet.take_ended()
            self.inside.loop.settle()

    def _static_pods(self, namespace: str, count: int, body: Object) -> Iterable[Object]:
        stem = body["metadata"].get("name", "static")
        now = stamp(self.clock.now())
        for number in range(count):
            metadata = {
                **body["metadata"],
                "name": f"{stem}-{number:05d}",
                "namespace": namespace,
                "uid": self.inside.operations.uid(),
                "creationTimestamp": now,
                "generation": 1,
                "annotations": {**body["metadata"].get("annotations", {}), STATIC: "true"},
            }
            status = body.get("status") or {"phase": "Running"}
            yield {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": metadata,
                "spec": body["spec"],
                "status": status,
            }

    def remove_node(self, name: str) -> None:
        """Takes a node away."""
        self._write(lambda: self.inside.store.remove(NODE, ("", name)) or {})

    def _write(self, write: Callable[[], Object]) -> Object:
        with self.inside.lock:
            self.inside.loop.settle()
            done = write()
            self.inside.loop.settle()
            return done
