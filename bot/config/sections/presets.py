"""Settings of presets: named sets of options for `/train submit`."""

from enum import StrEnum
from typing import Annotated

from pydantic import StringConstraints
from pydantic.functional_validators import BeforeValidator

from bot.config.sections.section import Section


def _as_typed(value: object) -> object:
    """A number as text, as typed in a command; YAML reads such values as numbers."""
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
    TEMPLATES = "templates"
    FALLBACK_AFTER = "fallback_after"
    COMMAND = "command"


class Preset(Section):
    """Options for `/train submit --preset NAME`, written as in the command."""

    purpose: str = ""
    """What the preset is for, in a few words; `/train presets` shows it."""

    image: Typed | None = None
    """The container image."""

    gpus: Typed | None = None
    """The number of GPUs."""

    gpu_type: Typed | None = None
    """The GPU type, like h100."""

    cpu: Typed | None = None
    """CPU cores."""

    memory: Typed | None = None
    """Memory, like 64Gi."""

    shm: Typed | None = None
    """Size of /dev/shm."""

    env: tuple[Typed, ...] = ()
    """Environment variables, each NAME=value."""

    secret: tuple[Typed, ...] = ()
    """Environment variables from Secrets, each NAME=secret/key."""

    pvc: tuple[Typed, ...] = ()
    """PVCs, each claim:/path, or storage-class:100Gi:/path."""

    data: tuple[Typed, ...] = ()
    """Datasets, each name@version:/path; without a version, the newest."""

    artifact: tuple[Typed, ...] = ()
    """What the run produces on its PVCs, each an absolute path; noted in its record."""

    kind: Typed | None = None
    """The kind of run."""

    form: Typed | None = None
    """Another form of the kind."""

    nodes: Typed | None = None
    """The number of nodes; a range in quotes, like "1:3"."""

    processes: Typed | None = None
    """Processes per node."""

    launcher: Typed | None = None
    """What starts the processes: none, mpirun or torchrun."""

    worker_command: Typed | None = None
    """The command of nodes other than the first, if that is more than sshd."""

    port: Typed | None = None
    """The port of a notebook."""

    efa: Typed | None = None
    """EFA adapters per node."""

    host_network: bool = False
    """Use the network of the nodes, if the team may."""

    privileged: bool = False
    """Use privileged containers, if the team may."""

    time: Typed | None = None
    """How long it may run, like 8h."""

    priority: Typed | None = None
    """Its priority in the queue."""

    code: Typed | None = None
    """The code that it runs, as REPO@COMMIT."""

    templates: Typed | None = None
    """The compute templates to wait on, in order, like dgx,burst: `--on`."""

    fallback_after: Typed | None = None
    """How long it waits on each template before it moves on to the next."""

    command: tuple[Typed, ...] = ()
    """The command after ` -- `, as a list of words."""

    locked: tuple[Locked, ...] = ()
    """Options that cannot be given with this preset: they keep its value, or stay unset."""

    def options(self) -> dict[str, str | tuple[str, ...] | bool]:
        """The values that the preset sets, by option name."""
        values = {str(each): getattr(self, each) for each in Locked}
        return {name: value for name, value in values.items() if value}
