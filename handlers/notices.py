"""/notices: how people are notified about their own runs."""

from bot.commands.context import Context
from bot.durations import format_duration
from bot.errors import UsageError
from bot.notices import CHOOSE, NoticeKind, Way, choose, ways_of
from bot.people.access import Right
from bot.slack.card import Reply
from bot.slack.grammar.choices import SomeOf
from bot.slack.grammar.declarations import Command, of_no_team
from bot.slack.markup import Markup, code, join, plain

notices = Command("notices", "How you are notified about your own runs", alone="show")

_KINDS = SomeOf(*NoticeKind, word="KINDS")
_FOR = "Only these kinds (default: all)"
_WAYS = {
    Way.THREAD: "a mention in the card's thread",
    Way.DM: "a direct message with a link to the card",
    Way.NONE: "no mention and no message, only an entry in the card's thread",
}
_ABOUT = {
    NoticeKind.TIME: "80 % of its time limit has passed, or your session ends soon",
    NoticeKind.PREEMPTED: "it is preempted",
    NoticeKind.IDLE: "its GPUs are idle",
    NoticeKind.FAILED: "it fails",
    NoticeKind.ENDED: "it ends for another reason",
}


@notices.verb("show", "Show how you are notified", right=Right.NOTICES, examples=("show",))
def show(ctx: Context) -> Reply:
    """Each kind of notice, and how it reaches the person."""
    return _shown(ctx)


@notices.verb(
    "thread",
    "Be mentioned in the thread of the run's card (the default)",
    right=Right.NOTICES,
    mutates=True,
    repeats=True,
    examples=("thread", "thread --for failed,idle"),
)
@notices.option("--for", "kinds", _KINDS, help=_FOR)
def thread(ctx: Context, kinds: tuple[str, ...] | None) -> Reply:
    """The choices, as they are from now on."""
    return _chosen(ctx, Way.THREAD, kinds)


@notices.verb(
    "dm",
    "Get direct messages, each with a link to the card",
    right=Right.NOTICES,
    mutates=True,
    repeats=True,
    examples=("dm", "dm --for preempted,idle"),
)
@notices.option("--for", "kinds", _KINDS, help=_FOR)
def dm(ctx: Context, kinds: tuple[str, ...] | None) -> Reply:
    """The choices, as they are from now on."""
    return _chosen(ctx, Way.DM, kinds)


@notices.verb(
    "none",
    "Get no mentions at all; the card and its thread still show everything",
    right=Right.NOTICES,
    mutates=True,
    repeats=True,
    examples=("none", "none --for started,ended"),
)
@notices.option("--for", "kinds", _KINDS, help=_FOR)
def none(ctx: Context, kinds: tuple[str, ...] | None) -> Reply:
    """The choices, as they are from now on."""
    return _chosen(ctx, Way.NONE, kinds)


@notices.button(CHOOSE, right=Right.NOTICES, team=of_no_team, repeats=True)
def click_way(ctx: Context, way: str) -> Reply:
    """The choices, all as the button says."""
    if way not in set(Way):
        raise UsageError("This button is out of date. Nothing was done.", "Use `/notices`.")
    return _chosen(ctx, Way(way), None)


def _chosen(ctx: Context, way: Way, kinds: tuple[str, ...] | None) -> Reply:
    choose(ctx.session, ctx.caller, way, map(NoticeKind, kinds or NoticeKind), ctx.now)
    return _shown(ctx)


def _shown(ctx: Context) -> Reply:
    wait = format_duration(ctx.settings.training.long_wait)
    about = {NoticeKind.STARTED: f"it starts after waiting for {wait} or longer"} | _ABOUT
    ways = ways_of(ctx.session, ctx.caller)
    lines = [_line(kind, said, ways[kind]) for kind, said in about.items()]
    change = code(ctx.format_command("notices dm --for preempted,idle"))
    return Reply(
        (
            plain("How you are notified when something happens to one of your runs:"),
            *lines,
            join("Use ", change, " to change some of these, or ",
                 code(ctx.format_command("notices dm")), " to change all. ", code("thread"),
                 " and ", code("none"), " work the same way."),
        )
    )  # fmt: skip


def _line(kind: NoticeKind, said: str, way: Way) -> Markup:
    return join("• ", code(kind.value), plain(f" ({said}): {_WAYS[way]}"))
