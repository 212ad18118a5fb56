"""What quartermaster.yaml says of presets: options of `/train submit` under one name."""

from enum import StrEnum
from typing import Annotated

from pydantic import StringConstraints
from pydantic.functional_validators import BeforeValidator

from bot.config.section import Section


def _as_typed(value: object) -> object:
    """Numbers as they would be typed; YAML makes numbers of what looks like one."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value}" if is_number else value


Typed = Annotated[str, BeforeValidator(_as_typed), StringConstraints(min_length=1, max_length=400)]


class Locked(StrEnum):
    """An option that a preset can lock, as it is typed without dashes."""

    IMAGE = "image"
    GPUS = "gpus"
    GPU_TYPE = "gpu_type"
    CPU = "cpu"
    MEMORY = "memory"
    SHM = "shm"
    ENV = "env"
    SECRET = "secret"  # noqa: S105 - the name of an option
    PVC = "pvc"
    DATA = "data"
    ARTIFACT = "artifact"
    KIND = "kind"
    FORM = "form"
    NODES = "nodes"
    PROCESSES = "processes"
    LAUNCHER = "launcher"
    WORKER_COMMAND = "worker_command"
    PORT = "port"
    EFA = "efa"
    HOST_NETWORK = "host_network"
    PRIVILEGED = "privileged"
    TIME = "time"
    PRIORITY = "priority"
    CODE = "code"
    COMMAND = "command"


class Preset(Section):
    """Options of `/train submit --preset NAME`, written as they are typed there."""

    purpose: str = ""
    """What it is for, in a few words; `/train presets` shows it."""

    image: Typed | None = None
    """The container image."""

    gpus: Typed | None = None
    """How many GPUs."""

    gpu_type: Typed | None = None
    """Of which type they are, like h100."""

    cpu: Typed | None = None
    """CPU cores."""

    memory: Typed | None = None
    """Memory, like 64Gi."""

    shm: Typed | None = None
    """Size of /dev/shm."""

    env: tuple[Typed, ...] = ()
    """Variables, each NAME=value."""

    secret: tuple[Typed, ...] = ()
    """Variables from Secrets, each NAME=secret/key."""

    pvc: tuple[Typed, ...] = ()
    """PVCs, each claim:/path, or storage-class:100Gi:/path."""

    data: tuple[Typed, ...] = ()
    """Datasets, each name@version:/path; the newest version where none is named."""

    artifact: tuple[Typed, ...] = ()
    """What it makes on its PVCs, each an absolute path; noted in its record."""

    kind: Typed | None = None
    """What the run is made of."""

    form: Typed | None = None
    """Another form of its kind."""

    nodes: Typed | None = None
    """On how many nodes; a range in quotes, like "1:3"."""

    processes: Typed | None = None
    """Processes of a node."""

    launcher: Typed | None = None
    """What starts them: none, mpirun or torchrun."""

    worker_command: Typed | None = None
    """What other nodes than the first run, where that is more than sshd."""

    port: Typed | None = None
    """Where a notebook answers."""

    efa: Typed | None = None
    """EFA adapters of a node."""

    host_network: bool = False
    """Use the network of nodes, where the team may."""

    privileged: bool = False
    """Privileged containers, where the team may."""

    time: Typed | None = None
    """How long it may run, like 8h."""

    priority: Typed | None = None
    """Its priority in the queue."""

    code: Typed | None = None
    """The code it runs, REPO@COMMIT."""

    command: tuple[Typed, ...] = ()
    """The words after ` -- `."""

    locked: tuple[Locked, ...] = ()
    """Options that nobody can give with this preset: they stay as it says, or unset."""

    def options(self) -> dict[str, str | tuple[str, ...] | bool]:
        """What it sets, by the names of the options."""
        values = {str(each): getattr(self, each) for each in Locked}
        return {name: value for name, value in values.items() if value}
