"""/anf pool: create and delete capacity pools, with approval."""

import re
from dataclasses import dataclass

from bot.commands.context import Context
from bot.errors import UsageError
from bot.people.access import Right
from bot.slack.card import Reply
from bot.slack.grammar.declarations import Part, of_no_team
from bot.slack.grammar.parameters import Choice, Pattern, WholeNumber
from bot.slack.markup import code, join, plain
from bot.volumes.provisioning.card import ASK, GO, WITHDRAW, question
from bot.volumes.provisioning.plan import TIB, NamedAccount, PoolOrder
from bot.volumes.provisioning.tables import PoolVerb

anf = Part("anf")
_SIZE = re.compile(r"([1-9][0-9]{0,3})\s?Ti?B?", re.IGNORECASE)
_LARGEST_TIB = 2048


class NewPoolName(Pattern):
    """The name of a capacity pool."""

    word = "NAME"
    rule = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
    form = "a name of letters, digits, hyphens and underscores, at most 64"
    example = "premium-2"


class AccountPlace(Pattern):
    """A NetApp account."""

    word = "GROUP/ACCOUNT"
    rule = re.compile(r"([0-9A-Fa-f-]{36}/)?[\w.()-]{1,90}/[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
    form = (
        "a resource group and an account of `anf.accounts` or `anf.other_subscriptions`, with the"
        " subscription and a slash before it where several have an account of that name"
    )
    example = "ml-platform/anf-ml"


class PoolSize:
    """The size of a pool, in bytes."""

    word = "SIZE"
    form = "a size in whole TiB, from `1TiB` to `2048TiB`"
    example = "4TiB"

    def read(self, text: str) -> int:
        """The size in bytes."""
        found = _SIZE.fullmatch(text)
        if found is None or int(found[1]) > _LARGEST_TIB:
            raise ValueError(text)
        return int(found[1]) * TIB


@dataclass(frozen=True)
class PoolOptions:
    """The arguments and options of `/anf pool`."""

    what: str
    name: str
    size_bytes: int | None
    level: str | None
    qos: str | None
    mibps: int | None
    account: str | None


@anf.verb(
    "pool",
    "Create or delete a capacity pool; shows the cost first, and another person approves it",
    right=Right.ANF_POOL_CHANGE,
    mutates=True,
    repeats=True,
    into=PoolOptions,
    examples=(
        "pool create premium-2 --size 4TiB --level premium",
        "pool create flex-1 --size 2TiB --level flexible --qos manual --throughput 256",
        "pool delete premium-2",
    ),
)
@anf.argument("what", Choice("create", "delete", word="WHAT"), help="What to do")
@anf.argument("name", NewPoolName(), help="Name of the pool")
@anf.option("--size", "size_bytes", PoolSize(), help="create: size in whole TiB")
@anf.option("--level", Choice("standard", "premium", "ultra", "flexible"), help="create: level")
@anf.option("--qos", Choice("auto", "manual"), help="create: type of QoS (default: auto)")
@anf.option("--throughput", "mibps", WholeNumber(128, 10_240), help="create: MiB/s, if Flexible")
@anf.option("--account", AccountPlace(), help="NetApp account, if several are configured")
def pool(ctx: Context, asked: PoolOptions) -> Reply:
    """Answers with what it does and costs, and a button, once Azure has answered."""
    account = ctx.volumes.provisioning.account(asked.account)
    if asked.what == PoolVerb.DELETE:
        _refuse_more(ctx, asked)
        return _asking(ctx, _deletion(account, asked.name))
    if asked.size_bytes is None or asked.level is None:
        raise UsageError(
            "A new pool needs a size and a level.",
            f"For example: `{ctx.format_command('anf pool create')} {asked.name} --size 4TiB"
            " --level premium`.",
        )
    order = PoolOrder(
        verb=PoolVerb.CREATE,
        subscription=account.subscription,
        account=account.account,
        pool=asked.name,
        level=asked.level.capitalize(),
        qos=(asked.qos or "auto").capitalize(),
        size_bytes=asked.size_bytes,
        mibps=asked.mibps,
    )
    return _asking(ctx, order)


def _deletion(at: NamedAccount, name: str) -> PoolOrder:
    return PoolOrder(
        verb=PoolVerb.DELETE, subscription=at.subscription, account=at.account, pool=name
    )


def _refuse_more(ctx: Context, asked: PoolOptions) -> None:
    if any(each is not None for each in (asked.size_bytes, asked.level, asked.qos, asked.mibps)):
        command = ctx.format_command(f"anf pool delete {asked.name}")
        raise UsageError("`delete` takes only a name.", f"For example: `{command}`.")


def _asking(ctx: Context, order: PoolOrder) -> Reply:
    provisioning = ctx.volumes.provisioning
    provisioning.check(ctx.session, ctx.caller, order)
    return Reply(
        (join("Asking Azure about pool ", code(order.pool), "…"),),
        later=lambda: question(provisioning.plan(order)),
        is_question=True,
    )


@anf.button(ASK, right=Right.ANF_POOL_CHANGE, team=of_no_team, repeats=True)
def click_ask(ctx: Context, value: str) -> Reply:
    """Answers with what deleting an empty pool does, and a button."""
    order = ctx.volumes.provisioning.order(value)
    account = ctx.volumes.provisioning.account(f"{order.subscription}/{order.account}")
    return _asking(ctx, _deletion(account, order.pool))


@anf.button(GO, right=Right.ANF_POOL_CHANGE, team=of_no_team, once=True)
def click_pool(ctx: Context, value: str) -> Reply:
    """Requests what was shown; its card shows the approval and the progress."""
    provisioning = ctx.volumes.provisioning
    provisioning.ask(ctx.session, ctx.caller, provisioning.order(value), ctx.now)
    return Reply((plain("Requested. Its card in this channel shows the progress."),))


@anf.button(WITHDRAW, right=Right.ANF_POOL_CHANGE, team=of_no_team)
def click_withdraw_pool(ctx: Context, row_id: str) -> Reply:
    """Withdraws a request that has not been approved yet."""
    provisioning = ctx.volumes.provisioning
    row = provisioning.get(ctx.session, row_id)
    provisioning.withdraw(ctx.session, ctx.caller, row, ctx.now)
    return Reply((plain("Withdrawn. Nothing was changed."),))
