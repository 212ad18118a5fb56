"""What quartermaster.yaml says of Azure NetApp Files."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from bot.config.kinds import AccountName, ArmAddress, ClassName, Duration, Name, SubscriptionId
from bot.config.section import Section

Level = Literal["Standard", "Premium", "Ultra", "Flexible"]
PoolName = Annotated[str, StringConstraints(pattern="^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]


class AnfChanges(Section):
    """How levels and throughput of volumes are changed; the bot then needs a role that writes."""

    approve: Literal["always", "cost"] = "cost"
    """Whether approvals.anf_change decides on every change, or on those that cost."""

    approve_above: Annotated[float, Field(ge=0)] = 0
    """With cost: how much more a month the pools may cost without; unknown prices are above."""

    wait_before_down: Duration = timedelta(hours=24)
    """How long after its way up a volume may not go down again; Azure has the last word."""

    longest: Duration = timedelta(days=30)
    """The longest that may be asked for with --for."""


class Anf(Section):
    """Azure NetApp Files of one subscription; the bot's own Azure identity is who asks."""

    subscription: SubscriptionId
    """The subscription's id."""

    accounts: tuple[AccountName, ...] = ()
    """NetApp accounts, each as RESOURCE-GROUP/ACCOUNT; without any all that the bot may see."""

    classes: dict[ClassName, tuple[PoolName, ...]] = Field(default_factory=dict)
    """The capacity pools of storage classes; without it those that volumes of a class are in."""

    price_per_gib_month: dict[Level, Annotated[float, Field(gt=0)]] = Field(default_factory=dict)
    """What a GiB of a pool costs a month, in your currency; Azure bills pools and not volumes."""

    trident_namespace: Name = "trident"
    """Where Trident runs in the clusters, and keeps what it knows of its volumes."""

    trident_deployment: Name = "trident-controller"
    """Trident's controller there, which `/anf repair` starts anew."""

    changes: AnfChanges | None = None
    """Lets leads and admins change levels and throughput; without it nothing is changed."""

    endpoint: ArmAddress = "https://management.azure.com"
    """Azure Resource Manager; another one in Azure's sovereign clouds."""
