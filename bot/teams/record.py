"""Records the outcome of a step of a team's change in its row, and in the teams themselves."""

from collections.abc import Callable
from datetime import datetime

from sqlmodel import Session, col, select

from bot.approvals import Approvals, Request
from bot.approvals.deciding import show_to_deciders
from bot.audit import Actor
from bot.audit import record as audit
from bot.config import Settings, TeamRows, with_slack_team, with_slack_teams
from bot.database.topics import touch
from bot.errors import LimitError
from bot.masking import hide_secrets
from bot.people.access import Caller, ChannelPlace
from bot.reconcile.decisions import UpdateStatus
from bot.reconcile.frame import Findings
from bot.slack.markup import Markup, join, person, plain, sentence
from bot.slack.messages import ThreadMessage, post_once, refresh_cards
from bot.teams.decide import Approved, Ask, Decision, EndChange, TeamObserved
from bot.teams.objects import KeptObject
from bot.teams.tables import CHANGE, TOPIC, ChangePhase, SlackTeam, TeamChange, Verb

ChangeFindings = Findings[Decision, TeamObserved]
POLICY = "team_change"
_ENDS = {
    ChangePhase.DENIED: "was denied",
    ChangePhase.EXPIRED: "was not decided in time",
    ChangePhase.WITHDRAWN: "was withdrawn",
}


class TeamRecorder:
    """Records steps of changes; approvals are asked and used in the same transaction."""

    def __init__(self, settings: Callable[[], Settings], approvals: Approvals) -> None:
        self._settings = settings
        self._approvals = approvals

    def record(self, session: Session, row_id: str, phase: str, found: ChangeFindings) -> None:
        """Updates the row, and refreshes the card if what it shows has changed.

        Does nothing if the row has changed its phase since it was read.
        """
        row = session.get(TeamChange, row_id)
        if row is None or row.phase != phase:
            return
        before = _shown(row)
        row.trouble = ""
        match found.decision:
            case Ask(objects, checks):
                row.objects = [_kept(each) for each in objects]
                row.checks = list(checks)
                self._ask(session, row, found.now)
            case Approved():
                self._begin(session, row, found.now)
            case UpdateStatus(to, obstacle):
                row.since = row.since if row.phase == to else found.now
                row.phase, row.obstacle = to, hide_secrets(obstacle)
            case EndChange(to, reason, unblock):
                self._end(session, row, EndChange(to, hide_secrets(reason), unblock), found.now)
            case _:
                row.obstacle = ""
        session.add(row)
        if _shown(row) != before:
            refresh_cards(session, row.subject, live=row.is_live)

    def _ask(self, session: Session, row: TeamChange, now: datetime) -> None:
        """Requests the approval, and shows the card where it is decided."""
        why = f"{row.verb} team {row.team}"
        requester = Caller(row.workspace_id, row.person, row.channel, ChannelPlace.ELSEWHERE, None,
                           frozenset())  # fmt: skip
        request = Request(CHANGE, row.id, row.lane, POLICY, row.digest, requester, why)
        try:
            approval = self._approvals.ask(session, request, now)
        except LimitError as error:
            self._end(session, row, EndChange(ChangePhase.FAILED, error.message, error.hint), now)
            return
        row.phase, row.since = ChangePhase.ASKED, now
        show_to_deciders(session, self._approvals, self._settings(), approval, now)

    def _begin(self, session: Session, row: TeamChange, now: datetime) -> None:
        approval = self._approvals.of(session, CHANGE, row.id)
        if approval is None:
            return
        why = self._misfit(session, row)
        if why:
            self._end(session, row, _unfit(row, f"{why} Nothing was created."), now)
            return
        if self._approvals.use(session, approval, row.digest, now):
            is_new = row.verb == Verb.CREATE
            row.phase, row.since = ChangePhase.MAKING if is_new else ChangePhase.CLOSING, now
            if not is_new:
                _close_team(session, row)
        refresh_cards(session, row.subject, live=True)

    def _misfit(self, session: Session, row: TeamChange) -> str:
        """Why a new team cannot be one of the settings any more; empty if it can.

        The file may have the team already, if it says the same of its place.
        """
        if row.verb == Verb.REMOVE:
            return ""
        rows = teams_of_slack(session, row.workspace_id)
        settings, _ = with_slack_teams(self._settings(), rows)
        other = settings.teams.get(row.team)
        place = (row.cluster, row.namespace, row.queue)
        if other is not None and (other.cluster, other.namespace, other.queue) != place:
            return f"there is a team {row.team} now, with another cluster, namespace or queue."
        fits = with_slack_team(settings, row.team, row.said)
        return fits if isinstance(fits, str) else ""

    def _end(self, session: Session, row: TeamChange, end: EndChange, now: datetime) -> None:
        if row.verb == Verb.CREATE and end.phase == ChangePhase.DONE:
            if row.withdrawn_by is not None:
                return  # The step began before the withdrawal; the next one ends it.
            why = self._misfit(session, row)
            end = _unfit(row, f"{why} All objects were created, and stay.") if why else end
        if end.phase == ChangePhase.FAILED:
            self._approvals.void_for(session, (CHANGE, row.id), "it has failed", now)
        is_opened = row.verb == Verb.CREATE and end.phase == ChangePhase.DONE
        if is_opened or row.phase == ChangePhase.CLOSING:
            open_team(session, row, now)
        row.reason, row.unblock = end.reason, end.unblock
        finish(session, row, end.phase, now)


def teams_of_slack(session: Session, workspace_id: str) -> TeamRows:
    """What was set in Slack of teams, by their names."""
    rows = session.exec(
        select(SlackTeam).where(col(SlackTeam.workspace_id) == workspace_id)
        .order_by(col(SlackTeam.created_at), col(SlackTeam.name))
    )  # fmt: skip
    return {each.name: each.said for each in rows}


def open_team(session: Session, row: TeamChange, now: datetime) -> None:
    """Makes the team of a change one of the settings."""
    team = SlackTeam(
        workspace_id=row.workspace_id, name=row.team, said=row.said, objects=row.objects,
        change_id=row.id, created_at=now,
    )  # fmt: skip
    session.merge(team)
    touch(session, TOPIC)


def finish(session: Session, row: TeamChange, phase: ChangePhase, now: datetime) -> None:
    """Ends a change in a phase, writes the audit line and notifies the requester."""
    row.phase, row.since, row.ended_at = phase, now, now
    row.trouble = row.obstacle = ""
    session.add(row)
    facts = {"team": row.team, "outcome": str(phase)}
    facts |= {"reason": row.reason} if row.reason else {}
    actor = Actor(row.workspace_id, team=row.team)
    audit(session, actor, f"team.{row.verb}_ended", (CHANGE, row.id), facts, at=now)
    lines = (join(person(row.person), " ", _ended(row)),
             *([sentence(row.unblock)] if row.unblock else ()))  # fmt: skip
    note = ThreadMessage("ended", lines, owner=row.person)
    post_once(session, row.subject, row.channel, note, now)
    refresh_cards(session, row.subject, live=False)


def _close_team(session: Session, row: TeamChange) -> None:
    team = session.get(SlackTeam, (row.workspace_id, row.team))
    if team is not None:
        session.delete(team)
        touch(session, TOPIC)


def _unfit(row: TeamChange, why: str) -> EndChange:
    said = f"Team {row.team} no longer fits the settings: {why}"
    again = "Request it again with what fits, for example another channel."
    return EndChange(ChangePhase.FAILED, said, again)


def _kept(each: KeptObject) -> dict[str, object]:
    return {
        "kind": each.kind, "name": each.name, "namespace": each.namespace, "body": each.body
    }  # fmt: skip


def _ended(row: TeamChange) -> Markup:
    is_new = row.verb == Verb.CREATE
    phase = ChangePhase(row.phase)
    if phase in _ENDS:
        said = (
            f"to {row.verb} team {row.team} {_ENDS[phase]}. {row.reason or 'Nothing was changed.'}"
        )
        return join("The request ", plain(said))
    if phase is ChangePhase.DONE:
        said = "is created. Its commands work within 10 seconds." if is_new else "is removed."
        return plain(f"Team {row.team} {said}")
    return join(plain(f"Team {row.team} was not {row.verb}d. "), sentence(row.reason))


def _shown(row: TeamChange) -> tuple[object, ...]:
    """What the card shows."""
    return row.phase, row.since, row.obstacle, row.trouble, row.reason, tuple(row.checks)
