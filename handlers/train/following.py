"""The answer to `/train logs RUN --follow`."""

from bot.commands.context import Context
from bot.errors import UsageError
from bot.slack.card import Reply
from bot.slack.markup import code, join, when
from bot.training.external.listing import ExternalWorkload
from bot.training.logs.reads import LogRequest
from bot.training.tables import Run


def follow_log(ctx: Context, found: Run | ExternalWorkload, request: LogRequest) -> Reply:
    """Follows a log; the answer says where it is shown, and until when."""
    if isinstance(found, ExternalWorkload):
        raise UsageError(
            f"{found.name} was not started by Quartermaster, so its log cannot be followed.",
            f"`{ctx.format_command(f'train logs {found.name}')}` shows its last lines.",
        )
    if request.is_previous or request.is_whole:
        other = "--previous" if request.is_previous else "--file"
        why = "that log no longer grows" if request.is_previous else "that is the whole log at once"
        example = ctx.format_command(f"train logs {found.reference} --follow")
        raise UsageError(
            f"`--follow` cannot be combined with `{other}`: {why}.", f"Use only one: `{example}`."
        )
    row = ctx.training.follows.follow(
        ctx.session, ctx.caller, found, ctx.now, pod=request.pod, lines=request.lines
    )
    return Reply(
        (
            join("Following the log of ", code(found.reference), " in your direct messages, where"
                 " only you see it, until ", when(row.until), ", or until the run ends."),
        )
    )  # fmt: skip
