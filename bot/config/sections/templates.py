"""Settings of compute templates: named places where runs can be submitted to."""

from datetime import timedelta
from decimal import Decimal
from typing import Annotated

from pydantic import Field, StringConstraints, field_validator

from bot.config.kinds import Duration, Name
from bot.config.sections.section import Section
from bot.config.sections.teams import TypeName

_SHORTEST = timedelta(minutes=1)
LabelKey = Annotated[
    str,
    StringConstraints(
        max_length=317,
        pattern=r"^([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$",
    ),
]
LabelValue = Annotated[
    str, StringConstraints(pattern=r"^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$")
]


class Template(Section):
    """A compute template: a place where runs wait for GPUs, for `/train submit --on NAME`."""

    purpose: str = ""
    """What the template is for, in a few words; `/train templates` shows it."""

    cluster: str = "default"
    """A name from `clusters`; teams that do not have this cluster cannot use the template."""

    queue: Name | None = None
    """The queue, instead of `teams.NAME.queue`: a Kueue LocalQueue in the team's namespace, a
    KAI Queue, or a project of Run:ai."""

    gpu_type: TypeName | None = None
    """The GPU type of its runs with GPUs; without it, that of the command or of the team."""

    node_selector: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    """Labels that the nodes of its runs must have."""

    cpu_per_gpu: Annotated[int, Field(ge=1)] | None = None
    """CPU cores per GPU, instead of the team's default."""

    memory_gib_per_gpu: Annotated[int, Field(ge=1)] | None = None
    """Memory per GPU in GiB, instead of the team's default."""

    price_per_gpu_hour: Annotated[Decimal, Field(ge=0)] | None = None
    """The price of one GPU-hour, instead of `training.prices.per_gpu_hour`."""

    leads_above: Annotated[Decimal, Field(ge=0)] | None = None
    """The cost per hour above which only leads and admins can submit a run to it; those of other
    people wait for an approval by `approvals.run_cost`. An unknown cost is above it. Without it,
    there is no limit."""

    after: Duration = timedelta(minutes=30)
    """How long a run waits here to be admitted before it moves on to the next template that it
    names; `--fallback-after` overrides it. At least 1m."""

    teams: tuple[Name, ...] = ()
    """Teams that can use it; without any, all teams that have the cluster."""

    @field_validator("after")
    @classmethod
    def _long_enough(cls, value: timedelta) -> timedelta:
        if value < _SHORTEST:
            raise ValueError("it must be at least 1m")
        return value
