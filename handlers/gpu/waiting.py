"""/gpu wait: be notified once when GPUs are free for the team."""

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from bot.commands.context import Context
from bot.errors import UsageError
from bot.gpus.waits.service import LASTS, LONGEST, SHORTEST, WaitAnswer, WaitRequest
from bot.gpus.waits.tables import GpuWait
from bot.gpus.waits.wording import amount, submission, usable
from bot.people.access import Right
from bot.slack.card import Button, Reply
from bot.slack.grammar.container_parameters import FlavorName
from bot.slack.grammar.declarations import CLUSTER, TEAM, Part
from bot.slack.grammar.parameters import Duration, GpuCount
from bot.slack.markup import Markup, code, join, plain, when

gpu = Part("gpu")

UNWAIT = "gpu.unwait"
LIST, OFF = "list", "off"


@dataclass(frozen=True)
class CountOrWord:
    """A number of GPUs, or what to do with the waits that there are."""

    count = GpuCount()
    word = "COUNT"

    @property
    def form(self) -> str:
        """The number and the words."""
        return f"{self.count.form}, `{LIST}` or `{OFF}`"

    @property
    def example(self) -> str:
        """A number within the limits."""
        return self.count.example

    def read(self, text: str) -> Decimal | str:
        """The number, or the word."""
        word = text.casefold()
        return word if word in {LIST, OFF} else self.count.read(text)


@gpu.verb(
    "wait",
    "Wait until your team has GPUs free, left of its quota or to borrow; be notified once",
    right=Right.RUN_SUBMIT,
    mutates=True,
    repeats=True,
    examples=("wait 4", "wait 4 --type h100 --for 1d", "wait list", "wait off"),
    team=TEAM,
    cluster=CLUSTER,
)
@gpu.argument("wanted", CountOrWord(), default=LIST, help="GPUs of one type; list shows what you"
              " wait for, off ends it")  # fmt: skip
@gpu.option("--type", "gpu_type", FlavorName(), help="GPU type, as in /quota status (default: any)")
@gpu.option("--for", "length", Duration(SHORTEST, LONGEST), help="How long to wait (default: 3d)")
def wait(
    ctx: Context,
    wanted: Decimal | str,
    *,
    gpu_type: str | None,
    length: timedelta | None,
    cluster: str | None,
) -> Reply:
    """Starts a wait, or lists or ends the caller's."""
    if isinstance(wanted, Decimal):
        _, team = ctx.team(cluster)
        asked = WaitRequest(wanted, gpu_type or "", length or LASTS)
        answer = ctx.gpus.waits.wait(ctx.session, ctx.caller, team, asked, ctx.now)
        return _free_now(ctx, asked, answer) if answer.row is None else _begun(answer, answer.row)
    if gpu_type or length or cluster:
        raise UsageError(
            "`--type`, `--for` and `--cluster` only work with a number of GPUs.",
            f"`{ctx.format_command('gpu wait 4 --for 1d')}` waits for 4 GPUs.",
        )
    mine = ctx.gpus.waits.of(ctx.session, ctx.caller.person)
    if wanted == OFF:
        ctx.gpus.waits.cancel(ctx.session, ctx.caller, mine, ctx.now)
        return _ended(mine)
    return _listed(ctx, mine)


def _of_wait(ctx: Context, wait_id: str) -> str:
    return ctx.gpus.waits.get(ctx.session, wait_id).team


@gpu.button(UNWAIT, right=Right.RUN_SUBMIT, team=_of_wait, repeats=True)
def click_unwait(ctx: Context, wait_id: str) -> Reply:
    """Ends one wait of the caller."""
    row = ctx.gpus.waits.get(ctx.session, wait_id)
    ctx.gpus.waits.cancel(ctx.session, ctx.caller, [row], ctx.now)
    return _ended([row])


def _free_now(ctx: Context, asked: WaitRequest, answer: WaitAnswer) -> Reply:
    what = amount(asked.gpus, answer.free.gpu_type)
    start = code(ctx.format_command(submission(answer.free)))
    return Reply(
        (
            plain(f"{what} are free for {ctx.caller.team} already: {usable(answer.free)}."),
            join(start, " starts a run."),
        )
    )


def _begun(answer: WaitAnswer, row: GpuWait) -> Reply:
    return Reply(
        (
            plain(f"Waiting for {amount(row.wanted, row.gpu_type)}: {usable(answer.free)}."),
            join(plain(f"You get one direct message when they are free for {row.team}, or when"
                       " this wait expires, "), when(row.until), "."),
        ),
        buttons=(Button(UNWAIT, "Stop waiting", row.id),),
    )  # fmt: skip


def _listed(ctx: Context, mine: list[GpuWait]) -> Reply:
    if not mine:
        how = code(ctx.format_command("gpu wait 4"))
        return Reply((join("You do not wait for GPUs. ", how, " waits for 4."),))
    stop = "Stop waiting for"
    return Reply(
        tuple(map(_line, mine)),
        buttons=tuple(
            Button(UNWAIT, f"{stop} {amount(row.wanted, row.gpu_type)}", row.id) for row in mine
        ),
    )


def _line(row: GpuWait) -> Markup:
    what = f"{amount(row.wanted, row.gpu_type)} for {row.team} in cluster {row.cluster}"
    return join(plain(f"Waiting for {what} since "), when(row.asked_at), ", until ",
                when(row.until), ".")  # fmt: skip


def _ended(rows: list[GpuWait]) -> Reply:
    if not rows:
        return Reply((plain("You do not wait for GPUs."),))
    what = ", ".join(f"{amount(row.wanted, row.gpu_type)} for {row.team}" for row in rows)
    return Reply((plain(f"You no longer wait for {what}."),))
