"""What creating or deleting a capacity pool does and costs, and what forbids it. Pure: no I/O."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from bot.config import Anf, PoolCreation
from bot.database.columns import WholeNumber
from bot.errors import ConflictError, NotFoundError, UsageError
from bot.volumes.levels import monthly_price
from bot.volumes.provisioning.tables import PoolRequest, PoolVerb
from bot.volumes.resources import AnfVolume, Pool, PoolPlace, names_pool
from bot.volumes.wording import capacity, volumes

TIB = 1024**4
LEAST_MIBPS = 128
_MOST_TIMES = 5  # Flexible pools have at most 5 x 128 MiB/s for each TiB.
_NAMED = 3
NOTHING = "Nothing was changed."


class PoolOrder(msgspec.Struct, frozen=True, kw_only=True):
    """A requested pool, or one to delete. It is the value of a button, so its keys are short."""

    verb: PoolVerb = msgspec.field(name="v")
    subscription: str = msgspec.field(name="b", default="")
    account: str = msgspec.field(name="a", default="")
    pool: str = msgspec.field(name="p")
    level: str = msgspec.field(name="l", default="")
    qos: str = msgspec.field(name="q", default="Auto")
    size_bytes: WholeNumber = msgspec.field(name="s", default=0)
    mibps: int | None = msgspec.field(name="m", default=None)
    uuid: str = msgspec.field(name="u", default="")
    is_own: bool = msgspec.field(name="o", default=True)

    @property
    def place(self) -> PoolPlace:
        """Where the pool is."""
        group, _, account = self.account.partition("/")
        return PoolPlace(self.subscription, group, account, self.pool)


# msgspec inspects a class on first use; a thread that uses it meanwhile would crash.
_DECODER = msgspec.json.Decoder(PoolOrder)


def written(asked: PoolOrder) -> str:
    """The value of a button."""
    return msgspec.json.encode(asked).decode()


def read(anf: Anf, value: str) -> PoolOrder:
    """Decodes the value of a button; raises UsageError if its format is outdated.

    Buttons of earlier releases name no subscription and mean `anf.subscription`.
    """
    try:
        order = _DECODER.decode(value)
    except msgspec.MsgspecError:
        again = "Request it again: `/anf pool`."
        raise UsageError("This button is out of date.", again) from None
    subscription = order.subscription or anf.subscription
    return msgspec.structs.replace(order, subscription=subscription)


@dataclass(frozen=True)
class PoolPlan:
    """An order with what it costs a month, None if unknown.

    `is_wide` if people have to be told its subscription.
    """

    order: PoolOrder
    cost: float | None
    is_wide: bool = False


def allowed(anf: Anf) -> PoolCreation:
    """The settings of creating pools; ConflictError unless they allow it, and name the accounts."""
    if anf.pool_creation is None:
        raise ConflictError(
            "Creating and deleting capacity pools is switched off.",
            "A platform admin can add `anf.pool_creation: {}` to quartermaster.yaml; see"
            " docs/anf.md.",
        )
    if not any(anf.subscriptions.values()):
        raise ConflictError(
            "Capacity pools are created and deleted only in accounts that anf.accounts names.",
            "A platform admin can add them there, each as RESOURCE-GROUP/ACCOUNT.",
        )
    return anf.pool_creation


class NamedAccount(NamedTuple):
    """An account that the settings name, as RESOURCE-GROUP/ACCOUNT, and its subscription."""

    subscription: str
    account: str


def account_of(anf: Anf, named: str | None) -> NamedAccount:
    """The account that was named, or the only one; UsageError if the settings do not name it.

    An account can be named without its subscription if no other one has an account of that name.
    """
    known = [
        NamedAccount(subscription, each)
        for subscription, accounts in anf.subscriptions.items()
        for each in accounts
    ]
    wanted = (named or "").lower()
    fitting = [e for e in known if wanted in {"", e.account.lower(), "/".join(e).lower()}]
    if len(fitting) == 1:
        return fitting[0]
    choices = ", ".join(shown_account(anf, *each) for each in fitting or known)
    said = f"{named} is not configured."
    if fitting:
        said = f"Several subscriptions have {named}." if named else "There are several accounts."
    raise UsageError(said, f"Add `--account` with one of: {choices}.")


def find_account(anf: Anf, place: PoolPlace) -> NamedAccount | None:
    """The account of a pool, if the settings name it."""
    try:
        return account_of(anf, "/".join(place[:3]))
    except UsageError:
        return None


def shown_account(anf: Anf, subscription: str, account: str) -> str:
    """An account as people see it: with its subscription only where there are several."""
    return f"{subscription}/{account}" if anf.has_several else account


def refuse_forbidden(anf: Anf, asked: PoolOrder | PoolRequest) -> None:
    """Raises UserError for what the settings forbid, or Azure would refuse of any pool."""
    settings, place = allowed(anf), asked.place
    if place.subscription not in anf.subscriptions:
        raise ConflictError(
            f"Subscription {place.subscription} is not configured.",
            "A platform admin can add it to anf.other_subscriptions, with its accounts.",
        )
    if find_account(anf, place) is None:
        account_of(anf, shown_account(anf, place.subscription, f"{place.group}/{place.account}"))
    if asked.verb == PoolVerb.CREATE:
        _refuse_shape(settings, asked)
    elif not asked.is_own:
        _refuse_others(settings, place.pool)


def _refuse_others(settings: PoolCreation, pool: str) -> None:
    if settings.deletes == "own":
        raise ConflictError(
            f"Pool {pool} was not created by Quartermaster. {NOTHING}",
            "Delete it in Azure, or let a platform admin set anf.pool_creation.deletes: any.",
        )


def _refuse_shape(settings: PoolCreation, asked: PoolOrder | PoolRequest) -> None:
    if asked.size_bytes > settings.largest_tib * TIB:
        raise UsageError(
            f"Pools of at most {capacity(settings.largest_tib * TIB)} can be requested here.",
            "A platform admin can raise anf.pool_creation.largest_tib.",
        )
    is_flexible = asked.level == "Flexible"
    if is_flexible and asked.qos != "Manual":
        raise UsageError("Flexible pools have manual QoS.", "Add `--qos manual`.")
    if asked.mibps is None:
        return
    most = _MOST_TIMES * LEAST_MIBPS * asked.size_bytes // TIB
    if not is_flexible or not LEAST_MIBPS <= asked.mibps <= most:
        raise UsageError(
            "`--throughput` is for Flexible pools: from 128 MiB/s to 640 MiB/s for each TiB.",
            "Omit it: the throughput of other levels follows their size.",
        )


def plan_creation(anf: Anf, asked: PoolOrder, found: Pool | None) -> PoolPlan:
    """What creating it does; ConflictError if a pool of that name exists."""
    if found is not None:
        account = shown_account(anf, asked.subscription, asked.account)
        raise ConflictError(
            f"Account {account} already has a pool {found.name}:"
            f" {found.level}, {capacity(found.size_bytes)}. {NOTHING}",
            "Choose another name. `/anf pools` shows what exists.",
        )
    return PoolPlan(asked, monthly_price(anf, asked.level, asked.size_bytes), anf.has_several)


def plan_deletion(
    anf: Anf, asked: PoolOrder, found: Pool | None, inside: Sequence[AnfVolume], installation: str
) -> PoolPlan:
    """What deleting it does; UserError if it does not exist, is needed, or may not be deleted."""
    if found is None:
        account = shown_account(anf, asked.subscription, asked.account)
        raise NotFoundError(
            f"Account {account} has no pool {asked.pool}.",
            "`/anf pools` shows what exists.",
        )
    is_own = found.made_by == installation
    if not is_own:
        _refuse_others(allowed(anf), found.name)
    why = hindrance(anf, found, inside)
    if why:
        raise ConflictError(f"{why} {NOTHING}", "Delete or move these first.")
    order = msgspec.structs.replace(
        asked, level=found.level, qos=found.qos, size_bytes=found.size_bytes, uuid=found.uuid,
        is_own=is_own,
    )  # fmt: skip
    return PoolPlan(order, monthly_price(anf, found.level, found.size_bytes), anf.has_several)


def hindrance(anf: Anf, found: Pool, inside: Sequence[AnfVolume]) -> str:
    """What needs a pool, as a sentence; empty if nothing does."""
    if inside:
        named = ", ".join(each.place.name for each in inside[:_NAMED])
        more = f" and {len(inside) - _NAMED} more" if len(inside) > _NAMED else ""
        return f"Pool {found.name} has {volumes(len(inside))}: {named}{more}."
    classes = [
        name
        for name, pools in anf.classes.items()
        if any(names_pool(each, found.name, found.id) for each in pools)
    ]
    if classes:
        return f"anf.classes names pool {found.name} for class {' and '.join(classes)}."
    return ""
