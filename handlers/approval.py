"""/approval: the pending requests, and the buttons that decide them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bot.approvals import Approval, ApprovalPhase, Verdict
from bot.commands.context import Context
from bot.people.access import Right
from bot.quotas.replies import requests_card
from bot.quotas.tables import OVERRIDE
from bot.slack.card import Reply
from bot.slack.grammar.declarations import Command, of_no_team
from bot.slack.markup import Markup, join, person, plain, when
from bot.snapshots.copies.card import waiting as copies_waiting
from bot.snapshots.copies.tables import COPY
from bot.snapshots.resizes.card import waiting as resizes_waiting
from bot.snapshots.resizes.tables import RESIZE
from bot.snapshots.reverts.replies import waiting as reverts_waiting
from bot.snapshots.tables import REVERT
from bot.teams.card import waiting as teams_waiting
from bot.teams.tables import CHANGE as TEAM_CHANGE
from bot.volumes.changes.notices import waiting as changes_waiting
from bot.volumes.changes.tables import CHANGE

_TOLD = {OVERRIDE, REVERT, RESIZE, COPY, CHANGE, TEAM_CHANGE}
approval = Command("approval", "Pending requests for approval")


@approval.verb("list", "List pending requests", right=Right.DECIDE, examples=("list",))
def waiting(ctx: Context) -> Reply:
    """The pending requests, oldest first within each kind."""
    overrides = ctx.quotas.undecided(ctx.session)
    card = requests_card(overrides)
    others = (
        *reverts_waiting(ctx.snapshots.reverts.undecided(ctx.session)),
        *resizes_waiting(ctx.snapshots.resizes.undecided(ctx.session)),
        *copies_waiting(ctx.snapshots.copies.undecided(ctx.session)),
        *changes_waiting(ctx.volumes.changes.undecided(ctx.session)),
        *teams_waiting(ctx.services.teams.service.undecided(ctx.session)),
        *_otherwise(ctx.approvals.waiting(ctx.session)),
    )
    if not others:
        return Reply(card=card)
    lines = card.lines if overrides else ()
    return Reply(card=replace(card, lines=(*lines, *others)))


def _otherwise(waiting: Sequence[Approval]) -> Iterator[Markup]:
    """Requests of kinds without their own text, so that none is left out."""
    for each in waiting:
        if each.subject_kind not in _TOLD:
            about = f"{each.team}: {each.reason}" if each.team else each.reason
            by = person(each.requester)
            yield join(plain(f"{about}, requested by "), by, " ", when(each.asked_at))


@approval.button("approval.approve", right=Right.VOTE, team=of_no_team, repeats=True)
def approve(ctx: Context, value: str) -> Reply:
    """Records an approval."""
    found = ctx.approvals.vote(ctx.session, value, ctx.caller, Verdict.APPROVE, ctx.now)
    more = " It needs more approvals." if found.phase == ApprovalPhase.ASKED else ""
    return Reply((plain(f"You approved this request.{more}"),))


@approval.button("approval.deny", right=Right.VOTE, team=of_no_team, repeats=True)
def deny(ctx: Context, value: str) -> Reply:
    """Records a denial."""
    ctx.approvals.vote(ctx.session, value, ctx.caller, Verdict.DENY, ctx.now)
    return Reply((plain("You denied this request. Nothing was changed."),))
