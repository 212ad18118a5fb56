"""Settings of teams."""

import re
from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import AliasChoices, Field, StringConstraints, model_validator
from pydantic.functional_validators import AfterValidator

from bot.config.kinds import ChannelId, Duration, Keep, Name, TextCheck, TimeZone
from bot.config.sections.presets import Preset
from bot.config.sections.section import Circle, Section

_TYPE = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")
TypeName = Annotated[
    str,
    AfterValidator(TextCheck("a GPU type as /quota status shows it, like h100", _TYPE.fullmatch)),
]
KindName = Literal["job", "interactive", "mpi", "sync", "elastic", "nccl", "rayjob"]
OpenKind = Literal["sync", "nccl"]
_LARGEST_ID = 2**31 - 1
UserId = Annotated[int, Field(ge=1, le=_LARGEST_ID)]
GroupId = Annotated[int, Field(ge=0, le=_LARGEST_ID)]


class RunDefaults(Section):
    """Defaults for what the command leaves out."""

    cpu_per_gpu: Annotated[int, Field(ge=1)] = 8
    """CPU cores per GPU."""

    memory_gib_per_gpu: Annotated[int, Field(ge=1)] = 64
    """Memory per GPU, in GiB."""

    shm_gib_per_gpu: Annotated[int, Field(ge=0)] = 8
    """Shared memory (/dev/shm) per GPU, in GiB; it is added to the memory."""

    cpu_without_gpu: Annotated[int, Field(ge=1)] = 4
    """CPU cores of a run without GPUs."""

    memory_gib_without_gpu: Annotated[int, Field(ge=1)] = 16
    """Memory of a run without GPUs, in GiB."""

    gpu_type: TypeName | None = None
    """The GPU type of runs with GPUs, if the queue has it; `--gpu-type any` allows any type."""

    time: Duration | None = None
    """How long a run may last."""

    interactive_time: Duration = timedelta(hours=8)
    """How long an interactive session lasts."""

    interactive_priority: Name | None = None
    """The priority class of interactive sessions, if the cluster has it."""


class Limits(Section):
    """The maximum that a single command of a team can request."""

    gpus_per_run: Annotated[int, Field(ge=0)] = 64
    """GPUs of one run."""

    live_runs: Annotated[int, Field(ge=1)] = 200
    """Runs that have not ended, of the whole team."""

    sweep_cells: Annotated[int, Field(ge=1, le=99)] = 64
    """Cells of one sweep; each is a run."""

    time: Duration | None = None
    """The longest a run may last."""

    interactive_time: Duration = timedelta(hours=24)
    """The longest an interactive session may last, including all extensions."""

    interactive_idle: Duration | None = timedelta(hours=4)
    """A session whose GPUs are idle for this long is stopped, after a notice; `null`: never."""


class IdleRuns(Section):
    """What happens to training runs whose GPUs are all idle; sessions have their own limit.

    Only what is measured counts: a GPU whose activity is unknown is not idle.
    """

    notice_after: Keep = timedelta(hours=1)
    """The owner is notified after this time, once per idle period; `off`: never."""

    remind_after: Keep = timedelta(hours=3)
    """The owner is reminded once after this time; `off`: never."""

    stop_after: Keep = "off"
    """The run is stopped after this time, half an hour after its owner is notified; `off`:
    never."""

    exclude: tuple[Annotated[str, StringConstraints(min_length=1, max_length=80)], ...] = ()
    """Names of runs to leave alone, as patterns like debug-*."""


class Admission(Section):
    """What a team's runs may use. No run can ever mount a path of its node."""

    images: tuple[Annotated[str, StringConstraints(min_length=1, max_length=255)], ...] = ()
    """Images that runs may use, as patterns like ghcr.io/acme/*; without any, all images."""

    kinds: tuple[KindName, ...] = ()
    """Kinds of run that the team may use; without any, all kinds."""

    host_network: tuple[OpenKind, ...] = ()
    """Kinds whose pods may use the network of their nodes (`--host-network`)."""

    privileged: tuple[OpenKind, ...] = ()
    """Kinds whose containers may be privileged (`--privileged`), with full control of their
    node."""

    security: Literal["restricted", "baseline"] = "restricted"
    """The Pod Security level of its pods: `restricted` (never as root) or `baseline`."""

    run_as_user: UserId | Literal["image"] | None = None
    """The user that its pods run as, or `image` for the user that the image names. By default,
    restricted pods run as 1000, others as the user of the image."""

    run_as_group: GroupId | None = None
    """The group of that user; without it, the same number."""

    fs_group: GroupId | None = None
    """The group that can write to the volumes of its pods; without it, the group of that user."""

    @model_validator(mode="after")
    def _no_group_of_root(self) -> Self:
        groups = self.run_as_group is not None or self.fs_group is not None
        if groups and self.security == "baseline" and self.run_as_user in {None, "image"}:
            raise ValueError(
                "run_as_group and fs_group need a user other than root: set one, for example"
                " run_as_user: 1000"
            )
        return self


class Team(Section):
    """A team: its channels, its people, and where its runs go."""

    channels: tuple[ChannelId, ...] = ()
    """Slack channels where the team's commands work; a channel belongs to one team."""

    members: Circle = Circle()
    """People who can submit, stop their own runs and request quota, until they leave."""

    leads: Circle = Circle()
    """Members who can also stop other people's runs."""

    cluster: str = "default"
    """A name from `clusters`."""

    clusters: tuple[str, ...] = ()
    """Several names instead of one: runs go to the first, or to the one that `--cluster` names."""

    namespace: Name
    """The Kubernetes namespace of the team's runs."""

    queue: Annotated[Name, Field(validation_alias=AliasChoices("queue", "local_queue"))]
    """The Kueue LocalQueue in that namespace, the KAI Queue, or the project of Run:ai;
    `local_queue` is an alias."""

    interactive_queue: Name | None = None
    """The queue of its interactive sessions on Kueue and KAI, with a quota of its own, so that
    training cannot preempt them; without it, `queue`."""

    service_account: Name | None = None
    """The service account of the team's pods; without it, the namespace's default."""

    pull_secrets: tuple[Name, ...] = ()
    """Secrets in the namespace for pulling images."""

    time_zone: TimeZone = "UTC"
    """The team's time zone, for schedules and days."""

    defaults: RunDefaults = RunDefaults()
    """Defaults for what the command leaves out."""

    limits: Limits = Limits()
    """The maximum that a single command can request."""

    presets: dict[Name, Preset] = Field(default_factory=dict)
    """The team's own presets, which override those for every team."""

    idle: IdleRuns = IdleRuns()
    """What happens to training runs whose GPUs are idle."""

    admission: Admission = Admission()
    """What its runs may use."""

    keep_caches: Keep | None = None
    """How long its unused caches of datasets are kept; without it, `datasets.keep`."""

    handed_over: bool = False
    """The team was created in Slack, and from now on this entry alone counts. Cluster, namespace
    and queue have to be the same."""

    @property
    def reach(self) -> tuple[str, ...]:
        """Every cluster that the team may use, the default one first."""
        return self.clusters or (self.cluster,)

    def on(self, cluster: str) -> Self:
        """A copy of the team that uses this cluster."""
        return self.model_copy(update={"cluster": cluster})

    @property
    def for_sessions(self) -> Self:
        """A copy of the team whose queue is that of interactive sessions."""
        if self.interactive_queue is None:
            return self
        return self.model_copy(update={"queue": self.interactive_queue})

    @model_validator(mode="after")
    def _first_of_several(self) -> Self:
        if not self.clusters or "cluster" in self.model_fields_set:
            return self
        found = self.on(self.clusters[0])
        found.model_fields_set.discard("cluster")
        return found
