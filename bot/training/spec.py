"""The spec of a run as stored in its row, from which its objects are created."""

from datetime import timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

import msgspec

from bot.cluster.types.quantities import format_quantity, parse_quantity
from bot.datasets.caches.using import FILES
from bot.quotas.engines.engine import Placement
from bot.slack.grammar.container_parameters import EnvironmentVariable, SecretReference, VolumeMount
from bot.training.tables import Run

SHM_PATH = "/dev/shm"  # noqa: S108 - a mount in the run's own pod
EFA, HUGE_PAGES, HUGE_PAGES_SIZE = "vpc.amazonaws.com/efa", "hugepages-2Mi", "5120Mi"
READ_WRITE_ONCE, READ_WRITE_MANY = "ReadWriteOnce", "ReadWriteMany"


class CreatedVolume(msgspec.Struct, frozen=True, kw_only=True):
    """A PVC to create for a run; `access_mode` is the widest that its class supports."""

    storage_class: str
    size: str
    path: str
    access_mode: str = READ_WRITE_MANY


class Data(msgspec.Struct, frozen=True, kw_only=True):
    """A dataset version that a run reads, and its path in the containers.

    `reference` is `chest-xray@v3`; as somebody typed it the version may be missing, and all that
    follows. `cache` is the id of the cache that is held for the run, `claim` the PVC by which its
    pods see that, `folder` where it is on the volume.
    """

    reference: str
    path: str
    digest: str = ""
    cache: str = ""
    claim: str = ""
    folder: str = FILES


class EndSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot that is taken when a run ends.

    `target` is a PVC, or the path where the run mounts one. `on` is `success` or `always`.
    `keep_seconds` is None for the default of the settings, and 0 to keep it until it is deleted.
    """

    target: str
    on: str = "success"
    keep_seconds: int | None = None


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """The snapshot from which a run starts, and the run whose end it shows, if any.

    A PVC is made from it, mounted at `paths`, where the run before had `instead_of`. It is called
    `claim` from when the run has an id.
    """

    snapshot_id: str
    snapshot: str
    run: str
    instead_of: str
    storage_class: str
    paths: tuple[str, ...]
    claim: str = ""


class Predecessor(msgspec.Struct, frozen=True, kw_only=True):
    """A run that has to end before another one starts, and to succeed unless `is_any` end will do.

    `run` is its reference, `run_id` its id.
    """

    run: str
    run_id: str
    is_any: bool = False

    @property
    def name(self) -> str:
        """The name of the run, without its number."""
        return self.run.partition("#")[0]

    @property
    def spelled(self) -> str:
        """The predecessor as it is written after `--after`."""
        return f"{self.run}:any" if self.is_any else self.run


class SweepCell(msgspec.Struct, frozen=True, kw_only=True):
    """The cell of a sweep that a run carries out: the id of the sweep, and its number from 1.

    The sweep's card shows the run. Only one that people submitted again `has_card` of its own.
    """

    sweep: str
    number: int
    has_card: bool = False


class Entrance(msgspec.Struct, frozen=True, kw_only=True):
    """The Ingress controller through which browsers reach a session.

    A `host` like `*.ml.example.com` gives each session its own host.
    """

    host: str
    class_name: str | None = None
    tls: bool = True
    tls_secret: str | None = None


class Security(msgspec.Struct, frozen=True, kw_only=True):
    """The security context of the containers of a run; None is what the image says.

    `restricted` ones keep to the Pod Security level of that name.
    """

    restricted: bool = False
    user: int | None = None
    group: int | None = None
    fs_group: int | None = None


class RunSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A requested run with defaults filled in.

    What it requests is for each of its pods: `gpus` of a run on two `nodes` count twice. `memory`
    is without `shm`, the pod gets both together. `gpu_resource` is what its queue counts GPUs by.
    `gpu_requests` are the resources that its pod requests for them. With a `gpu_type` they are of
    that one, and `placement` is what it takes to be given these. `node_selector` are further labels
    of its nodes.
    `artifacts` are paths on its volumes of what it makes. `after` are the runs that it waits for,
    `cell` is its place in a sweep.
    `form` is the way in which its kind is carried out, empty for the usual one. `processes` are
    those of a node, `efa` the fabric adapters of a node. `launcher` is what starts the processes,
    empty where the command tells; `worker_command` is what other nodes run instead of our sshd.
    `nodes_range` are the fewest and the most nodes of a run that can change them while it runs.
    Pods on the `host_network` have the addresses of their nodes. Without `security` its containers
    are as their image and the cluster have them.

    A session lasts `session_seconds` and with all its extensions no more than `longest_seconds`,
    both from when it begins to run. A `port` is where it answers browsers, through the `entrance`
    where the cluster has one.
    """

    kind: str = "job"
    form: str = ""
    nodes: int = 1
    nodes_range: tuple[int, int] | None = None
    processes: int | None = None
    launcher: str = ""
    image: str
    command: tuple[str, ...] = ()
    worker_command: tuple[str, ...] = ()
    gpus: Decimal = Decimal(0)
    gpu_type: str | None = None
    placement: Placement | None = None
    node_selector: dict[str, str] = {}
    gpu_resource: str = "nvidia.com/gpu"
    gpu_requests: dict[str, str] = {}
    efa: int = 0
    cpu: str
    memory: str
    shm: str = "0"
    env: tuple[EnvironmentVariable, ...] = ()
    secrets: tuple[SecretReference, ...] = ()
    mounts: tuple[VolumeMount, ...] = ()
    volumes: tuple[CreatedVolume, ...] = ()
    data: tuple[Data, ...] = ()
    artifacts: tuple[str, ...] = ()
    time_limit_seconds: int | None = None
    priority: str | None = None
    code: str | None = None
    snapshot: EndSnapshot | None = None
    origin: Origin | None = None
    after: tuple[Predecessor, ...] = ()
    cell: SweepCell | None = None
    preset: str | None = None
    service_account: str | None = None
    pull_secrets: tuple[str, ...] = ()
    host_network: bool = False
    privileged: bool = False
    security: Security | None = None
    session_seconds: int | None = None
    longest_seconds: int | None = None
    port: int | None = None
    entrance: Entrance | None = None

    @property
    def memory_with_shm(self) -> str:
        """The memory its pod requests; /dev/shm is part of it."""
        return _sum(self.memory, self.shm)

    @property
    def shm_bytes(self) -> Decimal:
        """The size of /dev/shm."""
        return parse_quantity(self.shm)

    @property
    def time_limit(self) -> timedelta | None:
        """How long it may run."""
        if self.time_limit_seconds is None:
            return None
        return timedelta(seconds=self.time_limit_seconds)

    @property
    def requests(self) -> dict[str, str]:
        """What its pod requests, by resource."""
        amounts = {"cpu": self.cpu, "memory": self.memory_with_shm}
        return amounts | self.gpus_requested | self.fabric_requested

    @property
    def gpus_requested(self) -> dict[str, str]:
        """The part of it that is for GPUs."""
        return self.gpu_requests or ({self.gpu_resource: f"{self.gpus:f}"} if self.gpus else {})

    @property
    def fabric_requested(self) -> dict[str, str]:
        """The part of it that is for the fabric between nodes: adapters, and pages for them."""
        return {EFA: str(self.efa), HUGE_PAGES: HUGE_PAGES_SIZE} if self.efa else {}

    @property
    def nodes_allowed(self) -> tuple[int, int]:
        """The fewest and the most nodes that it may have."""
        return self.nodes_range or (self.nodes, self.nodes)


@lru_cache(maxsize=4096)
def _sum(memory: str, shm: str) -> str:
    return format_quantity(parse_quantity(memory) + parse_quantity(shm), binary=True)


# msgspec looks into a class when it first meets it, and a thread that meets it meanwhile crashes;
# so it meets this one here, while there is one thread.
msgspec.json.Decoder(RunSpec)


def to_row(spec: RunSpec) -> dict[str, Any]:
    """The spec as it is stored in the row."""
    kept: dict[str, Any] = msgspec.to_builtins(spec)
    return kept


def is_shown_by_sweep(run: Run) -> bool:
    """Whether the card of a sweep shows the run, which then has none of its own."""
    cell = run.spec.get("cell")
    return cell is not None and not cell["has_card"]


def is_trained(run: Run) -> bool:
    """Whether a program of people runs in it: no session, and no test of the network."""
    return run.spec.get("session_seconds") is None and run.spec.get("kind") != "nccl"


def as_own(spec: RunSpec) -> RunSpec:
    """The spec of a run that people submit again: it has a card of its own, also in a sweep."""
    cell = spec.cell
    return (
        spec
        if cell is None
        else msgspec.structs.replace(spec, cell=msgspec.structs.replace(cell, has_card=True))
    )


def spec_of(run: Run) -> RunSpec:
    """The current spec of a run, with the number of nodes it was scaled to."""
    spec, nodes = asked_spec(run), run.size or run.scale_to
    return msgspec.structs.replace(spec, nodes=nodes) if nodes else spec


def asked_spec(run: Run) -> RunSpec:
    """The spec of a run as it was requested."""
    return msgspec.convert(run.spec, RunSpec)
