"""Settings of teams that are created from Slack."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from bot.config.kinds import ClassName
from bot.config.sections.section import Section

_AMOUNT = r"^[0-9]{1,12}(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$"
_RESOURCE = r"^([a-z0-9.-]{1,253}/)?[A-Za-z0-9._-]{1,63}$"
CoveredResource = Annotated[str, StringConstraints(pattern=_RESOURCE)]
Amount = Annotated[str, StringConstraints(pattern=_AMOUNT)]


class TeamCreation(Section):
    """How `/team create` and `/team remove` work. Without this section they are switched off."""

    roles: Annotated[tuple[ClassName, ...], Field(min_length=1)] = ("quartermaster-team",)
    """ClusterRoles that the bot binds to its own account in the namespaces that it creates."""

    covered: dict[CoveredResource, Amount] = Field(
        default_factory=lambda: {"cpu": "9000", "memory": "36000Gi"}
    )
    """What new ClusterQueues cover besides GPUs, with its quota. It should be more than all GPUs
    need, so that GPUs are what limits the team."""

    pod_security: Literal["restricted", "baseline", "privileged"] = "baseline"
    """The Pod Security level that new namespaces enforce. `--host-network` and `--privileged` need
    `privileged`."""
