"""Everything behind the API, put together: objects, controllers, Kueue, and the time."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from threading import RLock

from playground.cluster.control.claims import Claims
from playground.cluster.control.collector import Collector, Definitions, Namespaces
from playground.cluster.control.contents import Contents
from playground.cluster.control.deployments import Deployments, ReplicaSets
from playground.cluster.control.jobs import Jobs, Tracking
from playground.cluster.control.kubelet import Kubelet
from playground.cluster.control.loop import Controller, Loop
from playground.cluster.control.nodes import Nodes
from playground.cluster.control.scheduler import Scheduler
from playground.cluster.control.services import EndpointSlices, Ingresses
from playground.cluster.control.snapshots import Snapshots
from playground.cluster.control.training import Training
from playground.cluster.control.trident_actions import SnapshotActions
from playground.cluster.control.volumes import Volumes
from playground.cluster.control.world import World
from playground.cluster.kai.groups import PodGrouper
from playground.cluster.kai.scheduling import KaiScheduler
from playground.cluster.kai.status import KaiStatus
from playground.cluster.kueue.admission import Admission
from playground.cluster.kueue.configuration import Configuration
from playground.cluster.kueue.finalizers import Releases, hold_at_creation
from playground.cluster.kueue.jobs import QueuedJobs
from playground.cluster.kueue.joining import frameworks, suspend_at_creation
from playground.cluster.kueue.pod_groups import PodGroups, gate_at_creation
from playground.cluster.kueue.status import QueueStatus
from playground.cluster.kueue.webhooks import KueueWebhooks
from playground.cluster.objects.conditions import set_condition
from playground.cluster.objects.deletion import DeleteOptions, Deletion
from playground.cluster.objects.kinds import (
    CLUSTER_RUNTIME,
    KAI_KINDS,
    KUEUE_KINDS,
    POD,
    RUNAI_CONFIG,
    Kind,
    Kinds,
    Object,
)
from playground.cluster.objects.namespace_quotas import NamespaceQuotas
from playground.cluster.objects.network_rules import ServiceAddresses
from playground.cluster.objects.operations import Operations
from playground.cluster.objects.pod_admission import PodSecurity
from playground.cluster.objects.priorities import PodPriority
from playground.cluster.objects.storage_rules import StorageAdmission
from playground.cluster.objects.store import Key, Store
from playground.cluster.objects.tokens import ServiceAccountTokens
from playground.cluster.objects.validation import Validator
from playground.cluster.operators.catalogue import NEEDS, OPERATORS, torch_runtime
from playground.cluster.operators.webhooks import operator_webhooks


class Inside:
    """The cluster without its API; every use goes through `lock`."""

    def __init__(self, now: Callable[[], datetime], engine: str = "kueue") -> None:
        self.lock = RLock()
        self.kinds = Kinds()
        self.store = Store()
        self.loop = Loop(now)
        self.validator = Validator()
        self.operations = Operations(
            self.store, self.kinds, self.validator, lambda: self.loop.present
        )
        self.deletion = Deletion(self.operations)
        self.world = World(self.store, self.operations, self.deletion, self.loop)
        self.behaviours: dict[str, Training] = {}
        self.kubelet = Kubelet(self.world, self.behaviours)
        self.nodes = Nodes(self.world, self.kubelet.lost_nodes)
        self.scheduler = Scheduler(self.world)
        programs = self.kubelet.programs
        of_volumes = (self.world, Contents(lambda: programs.folder / "volumes"))
        self.claims, self.snapshots = Claims(*of_volumes), Snapshots(*of_volumes)
        self.snapshot_actions = SnapshotActions(*of_volumes)
        self.operators: set[str] = set()
        self.warnings: list[str] = []  # of the request that is being answered
        self.frameworks = frameworks(self.store)
        self.kueue_on = engine == "kueue"
        self.kueue = Configuration()
        self._employ()
        if engine != "kueue":
            self._have_no_kueue()
        if engine == "kai":
            self._have_kai()
        if engine == "runai":
            self.kinds.add(RUNAI_CONFIG)
        self.store.listeners.append(self.loop.heard)
        self._admit()

    def settle(self) -> None:
        """Brings everything to the present."""
        with self.lock:
            self.loop.settle()

    def evict(self, key: Key, options: DeleteOptions) -> None:
        """Deletes a pod gracefully and says in its conditions that it was evicted."""
        why = ("EvictionByEvictionAPI", "Eviction API: evicting")

        def edit(pod: Object) -> None:
            set_condition(pod, "DisruptionTarget", status=True, why=why, now=self.world.now)

        if not options.dry_run:
            self.world.change(POD, key, edit)
        self.deletion.delete(POD, key, options)

    def _admit(self) -> None:
        """Has those asked, in their order, that have a say in each write."""
        self.operations.admissions += [
            StorageAdmission(self.store),
            ServiceAddresses(self.store),
            PodPriority(self.store),
            ServiceAccountTokens(self.store),
            self._webhook,
            PodSecurity(self.store, self.warnings),
            NamespaceQuotas(self.store),
        ]
        self.operations.validations += [
            *operator_webhooks(self.store),
            KueueWebhooks(
                self.store, self.frameworks, lambda: self.kueue if self.kueue_on else None
            ),
        ]

    def _employ(self) -> None:
        kueue: list[Controller] = [
            *(QueuedJobs(self.world, self._kueue, framework) for framework in self.frameworks),
            PodGroups(self.world),
            QueueStatus(self.world, self._kueue),
            Releases(self.world),
            Admission(self.world, self._kueue),
        ]
        own: list[Controller] = [
            Definitions(self.world),
            Collector(self.world),
            Namespaces(self.world),
            self.claims,
            self.snapshot_actions,
            Volumes(self.world),
            Deployments(self.world),
            ReplicaSets(self.world),
            Jobs(self.world),
            Tracking(self.world),
            self.scheduler,
            self.kubelet,
            self.nodes,
            EndpointSlices(self.world),
            Ingresses(self.world),
        ]
        for controller in own:
            self.loop.add(controller)
        self.loop.add(self.snapshots, awake=partial(self._has, "snapshots"))
        for name, (_, operators) in OPERATORS.items():
            for operator in operators:
                self.loop.add(operator(self.world), awake=partial(self._has, name))
        for controller in kueue:
            self.loop.add(controller, awake=lambda: self.kueue_on)

    def install(self, name: str) -> None:
        """Installs an operator: its kinds are served, and what it runs begins."""
        for needed in NEEDS.get(name, ()):
            self.install(needed)
        kinds, _ = OPERATORS[name]
        self.kinds.install(*kinds)
        self.operators.add(name)
        if name == "trainer" and not any(self.store.all(CLUSTER_RUNTIME)):
            self.operations.create(CLUSTER_RUNTIME, "", torch_runtime())

    def _has(self, operator: str) -> bool:
        return operator in self.operators

    def _have_no_kueue(self) -> None:
        """Does not serve Kueue's kinds."""
        for kind in KUEUE_KINDS:
            self.kinds.forget(kind.group, kind.plural)

    def _have_kai(self) -> None:
        """Serves KAI's kinds, with its controllers at work."""
        for kind in KAI_KINDS:
            self.kinds.add(kind)
        kai: list[Controller] = [
            PodGrouper(self.world),
            KaiStatus(self.world),
            KaiScheduler(self.world),
        ]
        for controller in kai:
            self.loop.add(controller)

    def _kueue(self) -> Configuration:
        return self.kueue

    def _webhook(self, kind: Kind, obj: Object, old: Object | None) -> None:
        if self.kueue_on:
            suspend_at_creation(self.frameworks, (kind, obj, old), self.kueue)
            hold_at_creation(kind, obj, old)
            gate_at_creation(kind, obj, old, self.kueue)
