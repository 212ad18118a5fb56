"""/anf level and /anf throughput: change a volume, permanently or for a while."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from bot.commands.context import Context
from bot.datasets.caches.fills import fills_on
from bot.people.access import Right
from bot.slack.card import Reply
from bot.slack.grammar.declarations import CLUSTER, TEAM, Part, Verb
from bot.slack.grammar.form_plans import FormPlan
from bot.slack.grammar.parameters import Choice, Duration, Pattern, TeamName, Text, WholeNumber
from bot.slack.markup import Markup, code, join, plain, sentence
from bot.volumes.changes.card import GIVE_BACK
from bot.volumes.changes.replies import GO, question
from bot.volumes.changes.service import ChangeButton, read
from bot.volumes.changes.tables import ChangeKind, ChangePhase
from bot.volumes.matching import Claimed
from handlers.anf.volumes import ClaimName

anf = Part("anf")


_SHORTEST = timedelta(minutes=10)
_LEVELS = ("standard", "premium", "ultra", "flexible")
_ASKS_FIRST = sentence(
    "Once you send it, Azure is asked what the change does and costs. Nothing changes before you"
    " confirm that."
)
_AT_ONCE = sentence("It is requested without asking you again. Required approvals still apply.")
_YES = "Skip the confirmation; required approvals still apply"
_FOR = "Revert it after this time (default: keep it)"


class PoolName(Pattern):
    """A capacity pool."""

    word = "POOL"
    rule = TeamName.rule
    form = "the name of a capacity pool, as `/anf pools` shows it"
    example = "premium-1"


@dataclass(frozen=True)
class LevelOptions:
    """The options of `/anf level`."""

    claim: str
    level: str
    pool: str | None
    length: timedelta | None
    reason: str
    is_shrinking: bool
    is_meant: bool
    cluster: str | None


@dataclass(frozen=True)
class ThroughputOptions:
    """The options of `/anf throughput`."""

    claim: str
    mibps: int
    length: timedelta | None
    reason: str
    is_meant: bool
    cluster: str | None


def _level(ctx: Context, asked: LevelOptions) -> ChangeButton:
    name, team = ctx.team(asked.cluster)
    return ChangeButton(
        team=name,
        cluster=team.cluster,
        claim=asked.claim,
        kind=ChangeKind.LEVEL,
        level=asked.level.capitalize(),
        pool=asked.pool or "",
        is_shrinking=asked.is_shrinking,
        seconds=_seconds(asked.length),
        reason=asked.reason,
    )


def _throughput(ctx: Context, asked: ThroughputOptions) -> ChangeButton:
    name, team = ctx.team(asked.cluster)
    return ChangeButton(
        team=name,
        cluster=team.cluster,
        claim=asked.claim,
        kind=ChangeKind.THROUGHPUT,
        mibps=float(asked.mibps),
        seconds=_seconds(asked.length),
        reason=asked.reason,
    )


def _foresee_level(ctx: Context, _verb: Verb, asked: LevelOptions) -> Sequence[Markup]:
    return _foresee(ctx, _level(ctx, asked), is_meant=asked.is_meant)


def _foresee_throughput(ctx: Context, _verb: Verb, asked: ThroughputOptions) -> Sequence[Markup]:
    return _foresee(ctx, _throughput(ctx, asked), is_meant=asked.is_meant)


def _foresee(ctx: Context, asked: ChangeButton, *, is_meant: bool) -> Sequence[Markup]:
    """What is known without Azure, which a form has no time to ask."""
    ctx.volumes.changes.check(ctx.session, asked, _claimed(ctx, asked))
    return (_AT_ONCE if is_meant else _ASKS_FIRST,)


@anf.verb(
    "level",
    "Move a PVC's volume to a pool of another level; shows the cost first",
    right=Right.ANF_CHANGE,
    mutates=True,
    repeats=True,
    into=LevelOptions,
    examples=(
        "level lane-data premium",
        'level lane-data premium --pool premium-1 --for 12h --reason "fill before the deadline"',
    ),
    team=TEAM,
    cluster=CLUSTER,
    form=FormPlan(
        fields=("pool", "length", "reason", "is_shrinking"),
        watched=("claim", "level", "length"),
        foresee=_foresee_level,
    ),
)
@anf.argument("claim", ClaimName(), help="PVC")
@anf.argument("level", Choice(*_LEVELS, word="LEVEL"), help="Service level")
@anf.option("--pool", PoolName(), help="Target pool (default: the one with the most free space)")
@anf.option("--for", "length", Duration(minimum=_SHORTEST), help=_FOR)
@anf.option("--reason", Text(), default="", help="Reason, for the approvers")
@anf.option("--shrink", "is_shrinking", flag=True, help="Shrink the source pool afterwards")
@anf.option("--yes", "is_meant", flag=True, help=_YES)
def level(ctx: Context, asked: LevelOptions) -> Reply:
    """Answers with what it does and costs, and a button, once Azure has answered."""
    return _answer(ctx, _level(ctx, asked), is_meant=asked.is_meant)


@anf.verb(
    "throughput",
    "Set the throughput of a PVC's volume in a pool with manual QoS",
    right=Right.ANF_CHANGE,
    mutates=True,
    repeats=True,
    into=ThroughputOptions,
    examples=("throughput lane-data 200 --for 12h",),
    team=TEAM,
    cluster=CLUSTER,
    form=FormPlan(
        fields=("length", "reason"), watched=("claim", "length"), foresee=_foresee_throughput
    ),
)
@anf.argument("claim", ClaimName(), help="PVC")
@anf.argument("mibps", WholeNumber(minimum=1, maximum=100_000), help="Throughput in MiB/s")
@anf.option("--for", "length", Duration(minimum=_SHORTEST), help=_FOR)
@anf.option("--reason", Text(), default="", help="Reason")
@anf.option("--yes", "is_meant", flag=True, help=_YES)
def throughput(ctx: Context, asked: ThroughputOptions) -> Reply:
    """Answers with what it does, and a button, once Azure has answered."""
    return _answer(ctx, _throughput(ctx, asked), is_meant=asked.is_meant)


def _of_asked(_ctx: Context, value: str) -> str:
    return read(value).team


@anf.button(GO, right=Right.ANF_CHANGE, team=_of_asked, once=True)
def click_go(ctx: Context, value: str) -> Reply:
    """Requests the change; its card in the channel shows the progress."""
    return _begin(ctx, read(value))


def _of_change(ctx: Context, row_id: str) -> str:
    return ctx.volumes.changes.get(ctx.session, row_id).team


@anf.button(GIVE_BACK, right=Right.ANF_CHANGE, team=_of_change)
def click_give_back(ctx: Context, row_id: str) -> Reply:
    """Withdraws a change, or reverts it early."""
    row = ctx.volumes.changes.get(ctx.session, row_id)
    done = ctx.volumes.changes.give_back(ctx.session, ctx.caller, row, ctx.now)
    if done.phase == ChangePhase.WITHDRAWN:
        return Reply((plain("Withdrawn. Nothing was changed."),))
    return Reply(
        (plain("It is reverted as soon as Azure allows it. Its card shows the progress."),)
    )


def _answer(ctx: Context, asked: ChangeButton, *, is_meant: bool) -> Reply:
    """Refuses at once what can be; the rest is read from Azure after the acknowledgement."""
    changes, of = ctx.volumes.changes, _claimed(ctx, asked)
    changes.check(ctx.session, asked, of)
    if is_meant:
        return _begin(ctx, changes.meant(asked))
    fills = fills_on(ctx.session, asked.cluster, of.claim.namespace, asked.claim)

    def later() -> Reply:
        plan, anf = changes.plan(asked, of)
        return Reply(card=question(asked, plan, anf, fills), is_question=True)

    return Reply((join("Asking Azure about ", code(asked.claim), "…"),), later=later)


def _begin(ctx: Context, asked: ChangeButton) -> Reply:
    row = ctx.volumes.changes.begin(ctx.session, ctx.caller, asked, _claimed(ctx, asked), ctx.now)
    return Reply((join("Requested as change ", code(row.number), "."),
                  plain("Its card in this channel shows the progress.")))  # fmt: skip


def _claimed(ctx: Context, asked: ChangeButton) -> Claimed:
    _, team = ctx.team(asked.cluster)
    return ctx.volumes.reads.find(team, asked.claim, asked.cluster)[1]


def _seconds(length: timedelta | None) -> int | None:
    return None if length is None else round(length.total_seconds())
