"""/gpu digest: shows, posts and schedules digests of GPU usage."""

import calendar
import re
from dataclasses import dataclass, replace
from datetime import date

from bot.commands.context import Context
from bot.config import DIGEST_SECTIONS, TIME_OF_DAY
from bot.errors import UsageError
from bot.gpus.digests.plans import DigestPlan
from bot.gpus.digests.service import Change, DigestRequest
from bot.people.access import Right, Role
from bot.slack.card import Card, Reply
from bot.slack.chart_blocks import Showing, missing
from bot.slack.grammar.choices import SomeOf
from bot.slack.grammar.declarations import TEAM, Part
from bot.slack.grammar.parameters import Choice, Pattern
from bot.slack.grammar.schedule_parameters import ZoneName
from bot.slack.markup import Markup, channel, code, join, plain, when

gpu = Part("gpu")


_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_SHOWN = 20
_SECTIONS = SomeOf(*DIGEST_SECTIONS, word="SECTIONS")


class TimeOfDay(Pattern):
    """A time of the day."""

    word = "TIME"
    rule = TIME_OF_DAY
    form = "a time of day such as `09:00`"
    example = "09:00"


class ChannelReference(Pattern):
    """A channel, as Slack writes one."""

    word = "CHANNEL"
    rule = re.compile(r"#?([CG][A-Z0-9]{3,20})")
    form = "a channel such as `#gpu-daily`, chosen from the list that Slack shows"
    example = "#C0DAILY"


class DayName:
    """A day in the past."""

    word = "DAY"
    form = "a date such as `2026-11-21`"
    example = "2026-11-21"

    def read(self, text: str) -> date:
        """The date."""
        return date.fromisoformat(text)


@dataclass(frozen=True)
class DigestOptions:
    """The arguments and options of `/gpu digest`."""

    what: str
    day: date | None
    week: bool
    post: bool
    dm: bool
    channel: str | None
    at: str | None
    zone: str | None
    daily: str | None
    weekly: str | None
    sections: tuple[str, ...] | None


@gpu.verb(
    "digest",
    "Show yesterday's GPU digest to you only, or schedule digests for a channel",
    right=Right.GPU_DIGEST,
    mutates=True,
    repeats=True,
    into=DigestOptions,
    examples=(
        "digest",
        "digest --day 2026-11-21",
        "digest --week --post",
        "digest --dm",
        "digest set --channel #C0DAILY --at 09:00 --zone Europe/Berlin --weekly mon",
        "digest set --sections teams,idle,queue",
        "digest off --channel #C0DAILY",
        "digest list",
    ),
    team=TEAM,
)
@gpu.argument("what", Choice("show", "set", "off", "list"), default="show", help="What to do")
@gpu.option("--day", DayName(), help="Day to show (default: yesterday)")
@gpu.option("--week", flag=True, help="The previous seven days")
@gpu.option("--post", flag=True, help="Post it in this channel (leads and admins only)")
@gpu.option("--dm", flag=True, help="Send it to you as a direct message, with its images")
@gpu.option("--channel", ChannelReference(), help="set, off: channel (default: this one)")
@gpu.option("--at", TimeOfDay(), help="set: time of day, in the digest's time zone")
@gpu.option("--zone", ZoneName(), help="set: time zone of its times and days")
@gpu.option("--daily", Choice("on", "off"), help="set: turn the daily digest on or off")
@gpu.option("--weekly", Choice("off", *_DAYS), help="set: day for the digest of the previous week")
@gpu.option("--sections", _SECTIONS, help="set: sections to include besides the two shares")
def digest(ctx: Context, asked: DigestOptions) -> Reply:
    """Shows, posts or lists digests, or changes the schedule of a channel."""
    if asked.what == "show":
        return _show(ctx, asked)
    if asked.day or asked.week or asked.post or asked.dm:
        raise UsageError(
            "`--day`, `--week`, `--post` and `--dm` only work with `show`.",
            f"`{ctx.format_command('gpu digest --week')}` shows last week's digest.",
        )
    if asked.what == "list":
        return _list(ctx)
    ctx.require(Right.GPU_DIGEST_SET)
    where = (asked.channel or ctx.caller.channel).removeprefix("#")
    if where.startswith("D"):
        raise UsageError(
            "Digests are posted to channels.",
            "Add a channel, for example `--channel #gpu-daily`.",
        )
    if asked.what == "off":
        ctx.gpus.digests.turn_off(ctx.session, ctx.caller, where, ctx.now)
        return Reply((join("GPU digests for ", channel(where), " are off."),))
    change = Change(asked.at, asked.zone, asked.weekly, asked.daily, asked.sections)
    plans = ctx.gpus.digests.choose(ctx.session, ctx.caller, where, change, ctx.now)
    lines = [_told(plan) for plan in plans]
    return Reply((*lines, plain("If I am not in the channel yet, invite me.")))


def _show(ctx: Context, asked: DigestOptions) -> Reply:
    settings = (asked.channel, asked.at, asked.zone, asked.daily, asked.weekly, asked.sections)
    if any(each is not None for each in settings):
        raise UsageError(
            "These options only work with `set`.",
            f"Use `set`, for example `{ctx.format_command('gpu digest set --at 09:00')}`.",
        )
    if ctx.caller.team is None and ctx.caller.roles.isdisjoint({Role.ADMIN, Role.APPROVER}):
        ctx.team()
    wanted = DigestRequest(asked.day, asked.week, asked.dm)
    if asked.post and asked.dm:
        raise UsageError(
            "`--post` and `--dm` cannot be combined.",
            f"Choose one, for example `{ctx.format_command('gpu digest --dm')}`.",
        )
    if asked.dm:
        ctx.gpus.digests.post(ctx.session, ctx.caller, wanted, ctx.now)
        return Reply((plain("Sending the digest as a direct message."),))
    if asked.post:
        ctx.require(Right.GPU_DIGEST_POST)
        ctx.gpus.digests.post(ctx.session, ctx.caller, wanted, ctx.now)
        return Reply((plain("Posting the digest here."),))
    read = ctx.gpus.digests.show(ctx.session, ctx.caller, wanted, ctx.now)
    return Reply((plain("Calculating GPU usage…"),), later=lambda: Reply(card=_alone(ctx, read())))


def _alone(ctx: Context, card: Card) -> Card:
    """The digest as an ephemeral answer, with a note if it has charts that need an image."""
    if not missing(card.charts, Showing()):
        return card
    dm = code(ctx.format_command("gpu digest --dm"))
    said = join("Some charts are shown as text here; ", dm, " sends you the images.")
    return replace(card, footer=(*card.footer, said))


def _list(ctx: Context) -> Reply:
    plans = ctx.gpus.digests.plans(ctx.session, ctx.now)
    if not plans:
        how = code(ctx.format_command("gpu digest set --channel #gpu-daily --at 09:00"))
        return Reply((plain("No channel has a GPU digest."), join(how, " adds one.")))
    lines = [join(_told(plan), " Next: ", when(at), ".") for plan, at in plans[:_SHOWN]]
    more = len(plans) - len(lines)
    return Reply((*lines, *([plain(f"And {more} more.")] if more else [])))


def _told(plan: DigestPlan) -> Markup:
    days = f"of the previous week every {_LONG[plan.weekday]}" if plan.weekday else "every day"
    said = f" gets a digest {days} at {plan.at} {plan.time_zone}: {', '.join(plan.sections)}."
    return join(channel(plan.channel), plain(said))


_LONG = dict(zip(_DAYS, calendar.day_name, strict=True))
