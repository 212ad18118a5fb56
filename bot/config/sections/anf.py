"""Settings of Azure NetApp Files."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from bot.config.kinds import (
    AccountName,
    ArmAddress,
    ClassName,
    Duration,
    Name,
    PoolAddress,
    SubscriptionId,
)
from bot.config.sections.section import Section

Level = Literal["Standard", "Premium", "Ultra", "Flexible"]


def _accounts(value: object) -> object:
    if not isinstance(value, list | tuple) or not value:
        raise ValueError("it must name the accounts to read there, like [ml-lab/anf-ml]")
    return value


def _subscriptions(value: object) -> object:
    if not isinstance(value, dict):
        raise ValueError(  # noqa: TRY004 - pydantic tells only these
            "it must be subscription ids with the accounts to read there, like"
            " {89abcdef-0123-4567-89ab-cdef01234567: [ml-lab/anf-ml]}"
        )
    return value


_OtherAccounts = Annotated[tuple[AccountName, ...], BeforeValidator(_accounts)]
_OtherSubscriptions = Annotated[
    dict[SubscriptionId, _OtherAccounts], BeforeValidator(_subscriptions)
]


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

    Without this section it is switched off. It needs named accounts, and a role that can delete.
    """

    largest_tib: Annotated[int, Field(ge=1, le=2048)] = 100
    """The size in TiB of the largest pool that can be requested."""

    deletes: Literal["own", "any"] = "own"
    """Which empty pools can be deleted: those that the bot created (`own`), or any of the accounts'
    (`any`)."""


class Anf(Section):
    """Azure NetApp Files; the bot uses its own Azure identity."""

    subscription: SubscriptionId
    """The subscription id."""

    accounts: tuple[AccountName, ...] = ()
    """NetApp accounts, each as RESOURCE-GROUP/ACCOUNT; without any, all that the bot can see."""

    other_subscriptions: _OtherSubscriptions = Field(default_factory=dict)
    """Further subscriptions of the same tenant, each with the accounts that the bot reads there."""

    classes: dict[ClassName, tuple[PoolAddress, ...]] = Field(default_factory=dict)
    """The capacity pools of each storage class; without it, those of the class's volumes. Write
    SUBSCRIPTION/RESOURCE-GROUP/ACCOUNT/POOL where several pools have the name."""

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

    @property
    def subscriptions(self) -> Mapping[str, tuple[str, ...]]:
        """The accounts of each subscription, the first one included; empty means all of them."""
        return {self.subscription: self.accounts, **self.other_subscriptions}

    @property
    def has_several(self) -> bool:
        """Whether there are several subscriptions, so that people have to tell them apart."""
        return bool(self.other_subscriptions)

    def reads(self, subscription: str, account: str) -> bool:
        """Whether the bot reads an account (RESOURCE-GROUP/ACCOUNT); elsewhere only named ones."""
        named = self.other_subscriptions.get(subscription)
        if named is None:
            return subscription == self.subscription
        return account.lower() in {each.lower() for each in named}
