"""Turns a submission into a spec: fills in defaults and checks limits and names."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from math import ceil
from typing import Any, Literal

from bot.cluster.resources import NODES
from bot.cluster.types.containers import VISIBLE_GPUS
from bot.cluster.types.objects import Node
from bot.cluster.types.quantities import parse_quantity
from bot.config import Fractions, Team
from bot.errors import LackingError, UsageError
from bot.masking import is_secret, secret_in
from bot.quotas import Engine
from bot.slack.grammar.container_parameters import (
    Artifact,
    DataMount,
    EnvironmentVariable,
    NewVolume,
    SecretReference,
    SweptParameter,
    VolumeMount,
)
from bot.slack.grammar.parameters import Nodes, RunEnd
from bot.training.kinds import kind_of
from bot.training.kinds.choosing import RANGE, choose, chosen_nodes, refuse_unserved
from bot.training.kinds.interactive import SESSIONS
from bot.training.kinds.kind import Site, WorkloadKind
from bot.training.kinds.pods.launchers import runnable
from bot.training.queueing import demand_of, queue_for
from bot.training.session_time import as_session, welcomed
from bot.training.spec import SHM_PATH, CreatedVolume, Data, RunSpec
from bot.training.submission.artifacts import refuse_lost
from bot.training.submission.claims import settled
from bot.training.submission.fractions import gpu_requests, refuse_unavailable, shown
from bot.training.submission.gpu_types import nodes_for, placed
from bot.training.submission.sweep_terms import live_at_once
from bot.training.submission.volume_topology import refuse_unreachable
from bot.training.wording import gpus as gpus_words

_GIB = "Gi"
WHOLE = Fractions()
JOB = "job"
# Those fields of a submission that only some kinds have.
KIND_OPTIONS = (
    "nodes",
    "processes",
    "launcher",
    "worker_command",
    "port",
    "efa",
    "host_network",
    "privileged",
)
# Which library moves the messages of NCCL and MPI between nodes; it finds EFA by itself only then.
_PROVIDER = EnvironmentVariable("FI_PROVIDER", "efa")


@dataclass(frozen=True)
class Submission:
    """A run as it was typed; None and 0 for options that were not given."""

    name: str
    image: str = ""
    command: tuple[str, ...] = ()
    gpus: Decimal | None = None
    gpu_type: str | None = None
    cpu: str | None = None
    memory: str | None = None
    shm: str | None = None
    env: tuple[EnvironmentVariable, ...] = ()
    secret: tuple[SecretReference, ...] = ()
    pvc: tuple[VolumeMount | NewVolume, ...] = ()
    data: tuple[DataMount, ...] = ()
    artifact: tuple[Artifact, ...] = ()
    kind: str | None = None
    form: str | None = None
    nodes: Nodes | None = None
    processes: int | None = None
    launcher: str | None = None
    worker_command: tuple[str, ...] | None = None
    port: int | None = None
    efa: int | None = None
    host_network: bool = False
    privileged: bool = False
    time: timedelta | None = None
    priority: str | None = None
    code: str | None = None
    snapshot: str | None = None
    snapshot_on: str | None = None
    snapshot_keep: timedelta | Literal["off"] | None = None
    after: tuple[RunEnd, ...] = ()
    sweep: tuple[SweptParameter, ...] = ()
    at_most: int | None = None
    metric: str | None = None
    best: str | None = None
    stop_early: str | None = None
    warm_up: int | None = None
    min_cells: int | None = None
    preset: str | None = None
    templates: tuple[str, ...] = ()
    fallback_after: timedelta | None = None
    cluster: str | None = None
    team: str | None = None

    @property
    def at_once(self) -> int | None:
        """How many runs of its sweep are live at a time; None if it is no sweep."""
        return live_at_once(self.sweep, self.at_most) if self.sweep else None

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of its artifacts, each once."""
        return tuple(dict.fromkeys(each.path for each in self.artifact))

    @property
    def versions(self) -> tuple[Data, ...]:
        """Its data, as it was typed."""
        return tuple(Data(reference=each.reference, path=each.path) for each in self.data)


def fill_in(
    asked: Submission, team: Team, gpu_resource: str, shares: Fractions | None = WHOLE
) -> RunSpec:
    """The whole spec: the submission, with the team's defaults for the rest, in whole GiB.

    `shares` is None if the quota engine shares GPUs. UsageError for options of other kinds.
    """
    kind, nodes = _kind(asked)
    gpus, time = Decimal(asked.gpus or 0), asked.time or team.defaults.time
    cpu, memory, shm = default_amounts(gpus, team)
    spec = RunSpec(
        kind=kind.name,
        form=kind.form,
        nodes=nodes.most,
        nodes_range=nodes if RANGE in kind.options else None,
        image=asked.image,
        **_launched(asked),
        gpus=gpus,
        gpu_resource=shares.counted(gpu_resource) if shares else gpu_resource,
        gpu_requests=gpu_requests(gpus, gpu_resource, shares),
        efa=asked.efa or 0,
        cpu=asked.cpu or cpu,
        memory=asked.memory or memory,
        shm=asked.shm or shm,
        env=_env(asked),
        secrets=asked.secret,
        mounts=tuple(each for each in asked.pvc if isinstance(each, VolumeMount)),
        volumes=_new_volumes(asked),
        time_limit_seconds=int(time.total_seconds()) if time else None,
        priority=asked.priority,
        code=asked.code,
        service_account=team.service_account,
        pull_secrets=team.pull_secrets,
        host_network=asked.host_network,
        privileged=asked.privileged,
        port=asked.port,
    )
    return as_session(spec, asked.time, team) if kind.name == SESSIONS else spec


def _launched(asked: Submission) -> dict[str, Any]:
    """The command of its pods, and the launcher."""
    return {
        "command": runnable(asked.command),
        "worker_command": runnable(asked.worker_command or ()),
        "processes": asked.processes,
        "launcher": asked.launcher or "",
    }


def _kind(asked: Submission) -> tuple[WorkloadKind, Nodes]:
    """Its kind, and its nodes as the kind allows them."""
    kind = choose(asked.kind or JOB, asked.form, _special(asked))
    return kind, chosen_nodes(kind, asked.nodes)


def _special(asked: Submission) -> dict[str, object]:
    """The options that only some kinds have; None if not given."""
    return {option: getattr(asked, option) or None for option in KIND_OPTIONS}


def default_amounts(gpus: Decimal, team: Team) -> tuple[str, str, str]:
    """The default CPU, memory and /dev/shm of a pod with this many GPUs."""
    usual = team.defaults
    cpu = usual.cpu_per_gpu * gpus or Decimal(usual.cpu_without_gpu)
    memory = ceil(usual.memory_gib_per_gpu * gpus) or usual.memory_gib_without_gpu
    return shown(cpu), f"{memory}{_GIB}", f"{ceil(usual.shm_gib_per_gpu * gpus)}{_GIB}"


def _env(asked: Submission) -> tuple[EnvironmentVariable, ...]:
    is_chosen = not asked.efa or any(each.name == _PROVIDER.name for each in asked.env)
    return asked.env if is_chosen else (*asked.env, _PROVIDER)


def _new_volumes(asked: Submission) -> tuple[CreatedVolume, ...]:
    return tuple(
        CreatedVolume(storage_class=each.storage_class, size=each.size, path=each.path)
        for each in asked.pvc
        if isinstance(each, NewVolume)
    )


def refuse_gaps(asked: Submission) -> None:
    """LackingError when neither the command, nor a preset, nor the kind sets an image."""
    if not asked.image:
        raise LackingError(
            "image",
            "`--image IMAGE` is missing, and no preset sets it.",
            "Add it, for example `--image ghcr.io/acme/lane:3.1`.",
        )


def refuse_secrets(asked: Submission) -> None:
    """UsageError when a value looks like a secret, because it would be stored and shown."""
    for each in asked.env:
        if is_secret(each.name, each.value):
            raise UsageError(
                f"`--env {each.name}=...` looks like a secret. It was not stored.",
                "Put it into a Secret in the team's namespace and refer to it: "
                f"`--secret {each.name}=my-secret/{each.name.lower().replace('_', '-')}`.",
            )
    looked_at = (asked.command, asked.worker_command or ())
    found = next((each for each in map(secret_in, looked_at) if each is not None), None)
    if found is None:
        return
    told = f"What follows `{found}` in the command" if found else "A word in the command"
    raise UsageError(
        f"{told} looks like a secret. It was not stored.",
        "Put it into a Secret in the team's namespace, refer to it with "
        "`--secret NAME=secret/key`, and let the program read the variable NAME.",
    )


def refuse_clashes(asked: Submission) -> None:
    """UsageError when a variable or a path is given twice, or an artifact is not on a volume."""
    refuse_lost(asked.artifact, asked.pvc, asked.data)
    names = [*(each.name for each in asked.env), *(each.name for each in asked.secret)]
    if VISIBLE_GPUS in names:
        raise UsageError(
            f"{VISIBLE_GPUS} sets which GPUs of its node a container gets, also those of others.",
            "Leave it out, and request GPUs with `--gpus 1`. `--env CUDA_VISIBLE_DEVICES=0`"
            " chooses among those that a run gets.",
        )
    name = _twice(names)
    if name:
        raise UsageError(
            f"The variable {name} is given twice.", "Give it once, as `--env` or `--secret`."
        )
    paths = [each.path.rstrip("/") for each in (*asked.pvc, *asked.data)]
    path = _twice([SHM_PATH, *paths])
    if path:
        raise UsageError(
            f"{path} would be mounted twice.",
            "Give each volume its own path: `--pvc claim:/data`.",
        )
    _refuse_nested(asked)


def _refuse_nested(asked: Submission) -> None:
    """UsageError when a volume would be mounted within data, or data within a volume.

    Data is read-only, so that nothing can be mounted below it.
    """
    data = [each.path.rstrip("/") for each in asked.data]
    paths = [SHM_PATH, *(each.path.rstrip("/") for each in asked.pvc), *data]
    for path in data:
        for other in paths:
            outer, inner = sorted((path, other), key=len)
            if path != other and inner.startswith(f"{outer}/"):
                raise UsageError(
                    f"{inner} is below {outer}, and data is mounted read-only.",
                    "Give each its own path: `--data chest-xray@v3:/data --pvc out:/out`.",
                )


def _twice(words: Sequence[str]) -> str | None:
    return next((word for word, count in Counter(words).items() if count > 1), None)


def fitted(spec: RunSpec, site: Site, engine: Engine) -> RunSpec:
    """The spec as the cluster can run it; UserError when the cluster is known not to.

    Objects that the view has not read yet do not cause a refusal.
    """
    kind, team, view = kind_of(spec), site.team, site.view
    refuse_unserved(kind, team.cluster, view)
    kind.refuse(spec, site)
    spec = welcomed(settled(placed(spec, site, engine), site), site)
    refuse_unreachable(spec, site, engine)
    if spec.gpus != spec.gpus.to_integral_value():
        offered = _offered(nodes_for(spec, view))
        refuse_unavailable(spec.gpus_requested, offered, site.cluster.fractions)
    engine.runs.refuse(demand_of(spec, team.namespace, queue_for(spec, team)))
    return spec


def warnings(spec: RunSpec, team: Team, engine: Engine) -> tuple[str, ...]:
    """Warnings about what is allowed but makes the run wait forever, as sentences."""
    demand = demand_of(spec, team.namespace, queue_for(spec, team))
    found = list(engine.runs.warnings(demand))
    view = engine.queues.view
    wanted = parse_quantity(spec.gpus_requested.get(spec.gpu_resource, "0"))
    sort = f" of {spec.gpu_type}" if spec.gpu_type else ""
    largest = _offered(nodes_for(spec, view)).get(spec.gpu_resource, Decimal(0))
    if view.all(NODES) and wanted > largest:
        most = shown(largest * spec.gpus / wanted)
        found.append(
            f"No node has {gpus_words(spec.gpus)}{sort}: the largest has {most}, and"
            f" {_each(spec)}. It waits until there is such a node."
        )
    return tuple(found)


def _offered(nodes: Sequence[Node]) -> dict[str, Decimal]:
    """The most that one node has of each resource."""
    found: dict[str, Decimal] = {}
    for node in nodes:
        for name, amount in node.status.allocatable.items():
            found[name] = max(found.get(name, amount), amount)
    return found


def _each(spec: RunSpec) -> str:
    return "a run is one pod" if spec.nodes == 1 else "each of its pods needs that many"
