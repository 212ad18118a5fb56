"""Settings of Azure NetApp Files."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from bot.config.kinds import AccountName, ArmAddress, ClassName, Duration, Name, SubscriptionId
from bot.config.sections.section import Section

Level = Literal["Standard", "Premium", "Ultra", "Flexible"]
PoolName = Annotated[str, StringConstraints(pattern="^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]


class AnfChanges(Section):
    """How service levels and throughput are changed; the bot then needs a role that can write."""

    approve: Literal["always", "cost"] = "cost"
    """Whether `approvals.anf_change` decides on every change, or only on those that cost more."""

    approve_above: Annotated[float, Field(ge=0)] = 0
    """With `cost`: the added monthly pool cost allowed without approval. Unknown prices need
    approval."""

    wait_before_down: Duration = timedelta(hours=24)
    """How long after a move up a volume cannot move down again; Azure has the last word."""

    longest: Duration = timedelta(days=30)
    """The longest time that `--for` accepts."""


class PoolCreation(Section):
    """How `/anf pool` creates and deletes capacity pools, as `approvals.anf_pool` approves.

    Without this section it is switched off. It needs `anf.accounts`, and a role that can delete.
    """

    largest_tib: Annotated[int, Field(ge=1, le=2048)] = 100
    """The size in TiB of the largest pool that can be requested."""

    deletes: Literal["own", "any"] = "own"
    """Which empty pools can be deleted: those that the bot created (`own`), or any of the accounts'
    (`any`)."""


class Anf(Section):
    """Azure NetApp Files of one subscription; the bot uses its own Azure identity."""

    subscription: SubscriptionId
    """The subscription id."""

    accounts: tuple[AccountName, ...] = ()
    """NetApp accounts, each as RESOURCE-GROUP/ACCOUNT; without any, all that the bot can see."""

    classes: dict[ClassName, tuple[PoolName, ...]] = Field(default_factory=dict)
    """The capacity pools of each storage class; without it, those of the class's volumes."""

    price_per_gib_month: dict[Level, Annotated[float, Field(gt=0)]] = Field(default_factory=dict)
    """The monthly price of one GiB of a pool, in your currency; Azure bills pools, not volumes."""

    trident_namespace: Name = "trident"
    """The namespace where Trident runs in the clusters and keeps its records of volumes."""

    trident_deployment: Name = "trident-controller"
    """Trident's controller Deployment, which `/anf repair` restarts."""

    changes: AnfChanges | None = None
    """Lets leads and admins change service levels and throughput; without it, nothing is
    changed."""

    pool_creation: PoolCreation | None = None

    endpoint: ArmAddress = "https://management.azure.com"
    """The address of Azure Resource Manager; Azure's sovereign clouds have others."""
