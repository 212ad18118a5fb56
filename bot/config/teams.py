"""What quartermaster.yaml says of teams."""

import re
from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import AliasChoices, Field, StringConstraints, model_validator
from pydantic.functional_validators import AfterValidator

from bot.config.kinds import ChannelId, Duration, Keep, Kind, Name, TimeZone
from bot.config.presets import Preset
from bot.config.section import Circle, Section

_TYPE = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")
TypeName = Annotated[
    str, AfterValidator(Kind("a GPU type as /quota status names it, like h100", _TYPE.fullmatch))
]
KindName = Literal["job", "interactive", "mpi", "sync", "elastic", "nccl"]
OpenKind = Literal["sync", "nccl"]
_LARGEST_ID = 2**31 - 1
UserId = Annotated[int, Field(ge=1, le=_LARGEST_ID)]
GroupId = Annotated[int, Field(ge=0, le=_LARGEST_ID)]


class RunDefaults(Section):
    """What a run gets when the command does not say."""

    cpu_per_gpu: Annotated[int, Field(ge=1)] = 8
    """CPU cores for each GPU."""

    memory_gib_per_gpu: Annotated[int, Field(ge=1)] = 64
    """Memory for each GPU, in GiB."""

    shm_gib_per_gpu: Annotated[int, Field(ge=0)] = 8
    """Shared memory (/dev/shm) for each GPU, in GiB; memory grows by it."""

    cpu_without_gpu: Annotated[int, Field(ge=1)] = 4
    """CPU cores of a run without GPUs."""

    memory_gib_without_gpu: Annotated[int, Field(ge=1)] = 16
    """Memory of a run without GPUs, in GiB."""

    gpu_type: TypeName | None = None
    """The GPU type of runs with GPUs, where the queue has it; `--gpu-type any` takes any other."""

    time: Duration | None = None
    """How long a run may last."""

    interactive_time: Duration = timedelta(hours=8)
    """How long an interactive session lasts."""

    interactive_priority: Name | None = None
    """The priority class of interactive sessions, where the cluster has it."""


class Limits(Section):
    """The most a team's single command may ask for."""

    gpus_per_run: Annotated[int, Field(ge=0)] = 64
    """GPUs of one run."""

    live_runs: Annotated[int, Field(ge=1)] = 200
    """Runs that have not ended, of the whole team."""

    time: Duration | None = None
    """The longest a run may last."""

    interactive_time: Duration = timedelta(hours=24)
    """The longest an interactive session may last, all extensions included."""

    interactive_idle: Duration | None = timedelta(hours=4)
    """A session whose GPUs did nothing for so long is stopped, after a notice; null: never."""


class IdleRuns(Section):
    """What happens with training runs whose GPUs all do nothing; sessions have a limit of theirs.

    It counts only what is known: GPUs of which nobody knows what they do are not idle.
    """

    notice_after: Keep = timedelta(hours=1)
    """After this the owner is told, once for each idleness; or off."""

    remind_after: Keep = timedelta(hours=3)
    """After this they are reminded once; or off."""

    stop_after: Keep = "off"
    """After this the run is stopped, half an hour after its owner was told so; or off."""

    exclude: tuple[Annotated[str, StringConstraints(min_length=1, max_length=80)], ...] = ()
    """Names of runs that are let be, as patterns like debug-*."""


class Admission(Section):
    """What a team's runs may be. No run ever mounts a path of its node."""

    images: tuple[Annotated[str, StringConstraints(min_length=1, max_length=255)], ...] = ()
    """Images that runs may use, as patterns like ghcr.io/acme/*; without any, every image."""

    kinds: tuple[KindName, ...] = ()
    """Kinds of run that the team may use; without any, every kind."""

    host_network: tuple[OpenKind, ...] = ()
    """Kinds whose pods may use the network of their nodes (`--host-network`)."""

    privileged: tuple[OpenKind, ...] = ()
    """Kinds whose containers may be privileged (`--privileged`): they can do all on their node."""

    security: Literal["restricted", "baseline"] = "restricted"
    """The Pod Security level of its pods: `restricted`, never as root, or `baseline`."""

    run_as_user: UserId | Literal["image"] | None = None
    """The user that its pods run as, or `image` for the one that the image names; restricted pods
    run as 1000 unless this says otherwise, others as the image says."""

    run_as_group: GroupId | None = None
    """The group of that user; else the same number."""

    fs_group: GroupId | None = None
    """The group that may write to the volumes of its pods; else the group of that user."""

    @model_validator(mode="after")
    def _no_group_of_root(self) -> Self:
        groups = self.run_as_group is not None or self.fs_group is not None
        if groups and self.security == "baseline" and self.run_as_user in {None, "image"}:
            raise ValueError(
                "run_as_group and fs_group are those of a user who is not root: name one, as in"
                " run_as_user: 1000"
            )
        return self


class Team(Section):
    """A team: its channels, its people, and where its runs go."""

    channels: tuple[ChannelId, ...] = ()
    """Slack channels where the team's commands work; a channel belongs to one team."""

    members: Circle = Circle()
    """Who may submit, stop their own runs and ask for quota; not after they have left."""

    leads: Circle = Circle()
    """Members who may also stop other people's runs."""

    cluster: str = "default"
    """A name from clusters."""

    clusters: tuple[str, ...] = ()
    """Several names instead of one: runs go to the first, or where `--cluster` says."""

    namespace: Name
    """The Kubernetes namespace of the team's runs."""

    queue: Annotated[Name, Field(validation_alias=AliasChoices("queue", "local_queue"))]
    """The Kueue LocalQueue in that namespace, or the KAI Queue; `local_queue` means the same."""

    service_account: Name | None = None
    """The service account of the team's pods; without it the namespace's default."""

    pull_secrets: tuple[Name, ...] = ()
    """Secrets in the namespace for pulling images."""

    time_zone: TimeZone = "UTC"
    """The team's zone, for schedules and days."""

    defaults: RunDefaults = RunDefaults()
    """What a run gets when the command does not say."""

    limits: Limits = Limits()
    """The most a single command may ask for."""

    presets: dict[Name, Preset] = Field(default_factory=dict)
    """Presets of its own, which win over those for every team."""

    idle: IdleRuns = IdleRuns()
    """What happens with training runs whose GPUs do nothing."""

    admission: Admission = Admission()
    """What its runs may be."""

    keep_caches: Keep | None = None
    """How long its caches of datasets stay when nobody uses them; else `datasets.keep`."""

    @property
    def reach(self) -> tuple[str, ...]:
        """Every cluster it may use, the usual one first."""
        return self.clusters or (self.cluster,)

    def on(self, cluster: str) -> Self:
        """The team where it is to use this cluster."""
        return self.model_copy(update={"cluster": cluster})

    @model_validator(mode="after")
    def _first_of_several(self) -> Self:
        if not self.clusters or "cluster" in self.model_fields_set:
            return self
        found = self.on(self.clusters[0])
        found.model_fields_set.discard("cluster")
        return found
