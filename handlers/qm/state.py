"""/qm: who you are here, how the bot is, and who did what."""

from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from bot.audit.replies import SHOWN_LINES, audit_card, csv_card
from bot.audit.search import AuditQuery, search
from bot.commands.context import Context
from bot.people import people
from bot.people.access import Right, Role
from bot.people.replies import whoami_card
from bot.slack.card import Reply
from bot.slack.grammar.declarations import TEAM, Part, of_no_team
from bot.slack.grammar.parameters import Duration, PersonId, Text
from bot.slack.home.page import REFRESH
from bot.status.replies import status_card
from handlers.gpu.use import whose

qm = Part("qm")

_LONGEST = timedelta(days=366)


@qm.verb(
    "whoami",
    "Show your team, your roles, and what you may do here",
    right=Right.WHOAMI,
    examples=("whoami",),
)
def whoami(ctx: Context) -> Reply:
    """The person's team, roles and rights in this channel."""
    caller = ctx.caller
    name = people.name_of(ctx.session, caller.workspace_id, caller.person)
    teams = ctx.services.access.teams_of(ctx.session, caller.person)
    return Reply(card=whoami_card(name, caller, teams, ctx.format_command))


@qm.verb(
    "status",
    "Show the state of the bot: clusters, messages, and what is overdue",
    right=Right.STATUS,
    examples=("status",),
)
def status(ctx: Context) -> Reply:
    """What the bot sees of each cluster, and what Slack does not show yet."""
    found = ctx.services.status.look(ctx.session, ctx.now)
    return Reply(card=status_card(found, is_admin=Role.ADMIN in ctx.caller.roles))


@qm.button(REFRESH, right=Right.WHOAMI, team=of_no_team, repeats=True)
def refresh(_ctx: Context, _value: str) -> Reply:
    """Nothing to say: a Home tab is published again after each click on it."""
    return Reply()


@dataclass(frozen=True)
class AuditOptions:
    """The options of `/qm audit`."""

    person: str | None
    verb: str | None
    about: str | None
    since: timedelta
    csv: bool
    everybody: bool


@qm.verb(
    "audit",
    "Show who did what in your team, newest first (leads and admins)",
    right=Right.AUDIT_READ,
    into=AuditOptions,
    examples=(
        "audit",
        "audit --verb run.stop --since 30d",
        "audit --about lane --person @U0ALICE --csv",
    ),
    team=TEAM,
)
@qm.option("--person", PersonId(), help="Only what this person did")
@qm.option("--verb", Text(60), help="Only this verb, such as run.submit, or all that begin so: run")
@qm.option("--about", Text(100), help="Only lines about the object with this name or id")
@qm.option(
    "--since", Duration(maximum=_LONGEST), default=timedelta(days=7), help="How far to look back"
)
@qm.option("--csv", flag=True, help="Output as CSV, in a file if it is long")
@qm.option("--all", "everybody", flag=True, help="Every team (admins only)")
def audit(ctx: Context, asked: AuditOptions) -> Reply:
    """The lines of the team, or of all teams for admins; times are in the reader's zone."""
    team = whose(ctx, everybody=asked.everybody, what="audit log")
    workspace, now = ctx.caller.workspace_id, ctx.now
    query = AuditQuery(
        workspace,
        now - asked.since,
        now,
        team=team,
        person=asked.person,
        verb=asked.verb or "",
        about=asked.about or "",
    )
    if asked.csv:
        return Reply(card=csv_card(search(ctx.session, query), query))
    reader = people.known(ctx.session, workspace, ctx.caller.person)
    return Reply(
        card=audit_card(
            search(ctx.session, query, SHOWN_LINES + 1),
            query,
            zone=reader.time_zone if reader else "UTC",
            name_of=partial(people.name_of, ctx.session, workspace),
            as_csv=ctx.again("--csv"),
        )
    )
