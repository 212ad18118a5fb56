"""Who may do what where: channel -> team, person -> roles, right -> roles and channels."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlmodel import Session

from bot.config import Circle, Settings, Team
from bot.errors import NotAllowedError, NotFoundError, UsageError, UserError
from bot.people.people import groups_of, is_out, members_of, membership
from bot.rights import EVERYBODY, RULES, ChannelPlace, Right, Role

__all__ = [
    "RULES",
    "Access",
    "Caller",
    "ChannelPlace",
    "Right",
    "Role",
    "UnknownPersonError",
    "WhichTeamError",
    "bound",
]


class UnknownPersonError(NotAllowedError):
    """The person has not been looked up in Slack yet, so nothing is allowed."""


class WhichTeamError(UsageError):
    """Neither channel nor command determines which of `teams` this is for."""

    def __init__(self, teams: Sequence[str]) -> None:
        super().__init__("Which team is this for?", f"Add --team with one of: {', '.join(teams)}.")
        self.teams = teams


@dataclass(frozen=True)
class Caller:
    """The person behind a command or click, with their channel, team and roles.

    `roles` are those in `team` (none if it is None), and those that hold in every team. `teams`
    are all that the person belongs to.
    """

    workspace_id: str
    person: str
    channel: str
    place: ChannelPlace
    team: str | None
    roles: frozenset[Role]
    teams: tuple[str, ...] = ()

    @property
    def is_undecided(self) -> bool:
        """Whether they are in several teams, and neither channel nor command says which."""
        return self.team is None and len(self.teams) > 1 and self.place is ChannelPlace.DIRECT

    def may(self, right: Right) -> bool:
        """Whether this person has the right here."""
        rule = RULES[right]
        return self.place in rule.places and (
            rule.roles is None or not self.roles.isdisjoint(rule.roles)
        )


class Access:
    """Resolves roles and rights from the current settings and the known Slack users."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self._settings = settings

    def caller(
        self, session: Session, person: str, channel: str, *, team: str | None = None
    ) -> Caller:
        """The caller with their team and roles.

        Raises NotAllowedError for guests and people from other workspaces, and UnknownPersonError
        for people not looked up in Slack yet. `team` is the one that the command named; without
        it the channel decides, and in direct messages the person's only team.
        """
        settings = self._settings()
        groups = self._groups(session, person)
        if team is not None:
            self.refuse_unknown(team)
        place, here = self.place(channel)
        mine = [name for name in settings.teams if self._roles(name, person, groups)]
        chosen = _choose(team, here, mine, place)
        anywhere = self._roles_anywhere(person, groups)
        if here not in {None, chosen, *mine} and Role.ADMIN not in anywhere:
            raise NotAllowedError(
                f"This channel belongs to {here}, and you are not a member of it.",
                "Use your own team's channel or a direct message.",
            )
        roles = self._roles(chosen, person, groups) if chosen else frozenset()
        return Caller(
            workspace_id=settings.workspace,
            person=person,
            channel=channel,
            place=place,
            team=chosen,
            roles=roles | anywhere,
            teams=tuple(mine),
        )

    def callers(self, session: Session, person: str, channel: str) -> list[Caller]:
        """The caller as a member of each of their teams, in direct messages; of none without any.

        Raises what `caller` raises.
        """
        groups = self._groups(session, person)
        teams = {name: self._roles(name, person, groups) for name in self._settings().teams}
        mine = {name: roles for name, roles in teams.items() if roles}
        alone = Caller(
            workspace_id=self._settings().workspace,
            person=person,
            channel=channel,
            place=ChannelPlace.DIRECT,
            team=None,
            roles=self._roles_anywhere(person, groups),
            teams=tuple(mine),
        )
        return [
            replace(alone, team=name, roles=alone.roles | roles) for name, roles in mine.items()
        ] or [alone]

    def member(self, session: Session, person: str, channel: str, team: str) -> Caller:
        """The caller with their current roles in `team`, as if they were in its channel.

        For cards in channels of no team, such as digests, and for actions that run later.
        """
        caller = self.caller(session, person, channel, team=team)
        is_direct = caller.place is ChannelPlace.DIRECT
        return caller if is_direct else replace(caller, place=ChannelPlace.TEAM)

    def may_read(self, session: Session, person: str, team: str) -> bool:
        """Whether the person may read the team's runs in their direct messages at this moment."""
        try:
            caller = self.caller(session, person, "D", team=team)
        except UserError:
            return False
        return caller.may(Right.RUN_READ)

    def require(self, caller: Caller, right: Right, *, by_team: bool = False) -> None:
        """Raises an error unless the caller has the right here.

        Raises:
            WhichTeamError: the caller is in several teams, and may name one (`by_team`).
            NotAllowedError: otherwise; it says where to go.
        """
        if caller.may(right):
            return
        if by_team and caller.is_undecided and caller.place in RULES[right].places:
            raise WhichTeamError(caller.teams)
        is_nobody = caller.place is ChannelPlace.ELSEWHERE and not caller.roles
        if caller.place not in RULES[right].places or is_nobody:
            raise NotAllowedError(*self._elsewhere(caller))
        if caller.team and not caller.roles & EVERYBODY:
            raise NotAllowedError(
                f"You are not a member of {caller.team}.",
                "Ask a platform admin to add you to the team, or use your own team's channel.",
            )
        raise NotAllowedError(
            f"This requires the right {right.value}, which you do not have here.",
            f"Roles with this right: {', '.join(sorted(RULES[right].roles or ()))}.",
        )

    def require_team(self, caller: Caller, cluster: str | None = None) -> tuple[str, Team]:
        """The team the caller acts for, in the named cluster or in its default one.

        Raises:
            WhichTeamError: neither channel nor command determines the team.
            NotFoundError: the team has no such cluster.
        """
        if caller.team is None:
            if caller.place is ChannelPlace.DIRECT:
                raise WhichTeamError(caller.teams or self.teams())
            raise NotAllowedError(*self._elsewhere(caller))
        team = self._settings().teams[caller.team]
        return caller.team, bound(caller.team, team, cluster)

    def place(self, channel: str) -> tuple[ChannelPlace, str | None]:
        """What a channel is, and the team it belongs to."""
        settings = self._settings()
        for name, team in settings.teams.items():
            if channel in team.channels:
                return ChannelPlace.TEAM, name
        if channel == settings.approvals.channel:
            return ChannelPlace.APPROVALS, None
        return (ChannelPlace.DIRECT if channel.startswith("D") else ChannelPlace.ELSEWHERE), None

    def teams_of(self, session: Session, person: str) -> dict[str, frozenset[Role]]:
        """The person's roles in each team that they belong to."""
        groups = self._groups(session, person)
        roles = {name: self._roles(name, person, groups) for name in self._settings().teams}
        return {name: found for name, found in roles.items() if found}

    def teams(self) -> tuple[str, ...]:
        """The names of all teams."""
        return tuple(self._settings().teams)

    def refuse_unknown(self, team: str) -> None:
        """Raises NotFoundError unless there is such a team."""
        teams = self._settings().teams
        if team not in teams:
            raise NotFoundError(f"There is no team {team}.", f"The teams are: {', '.join(teams)}.")

    def cluster_of(self, team: str) -> str:
        """The team's default cluster; empty if the team is no longer known."""
        found = self._settings().teams.get(team)
        return found.reach[0] if found else ""

    def is_admin(self, session: Session, person: str) -> bool:
        """Whether the person is an admin today."""
        return self.is_in(session, self._settings().admins, person)

    def is_in(self, session: Session, circle: Circle, person: str) -> bool:
        """Whether the person belongs to a circle of the configuration today."""
        workspace = self._settings().workspace
        if is_out(session, workspace, person):
            return False
        return _is_in(circle, person, groups_of(session, workspace, person))

    def people_in(self, session: Session, circle: Circle) -> set[str]:
        """All people who belong to a circle of the configuration today."""
        workspace = self._settings().workspace
        people = set(circle.people)
        for group in circle.groups:
            people |= members_of(session, workspace, group)
        return {who for who in people if not is_out(session, workspace, who)}

    def _groups(self, session: Session, person: str) -> frozenset[str]:
        who = membership(session, self._settings().workspace, person)
        if who is None:
            raise UnknownPersonError("Checking who you are.", "Try again in a few seconds.")
        if who.is_out:
            raise NotAllowedError(
                "Guests and people from other workspaces cannot use Quartermaster.",
                "Ask a full member of the team to do this for you.",
            )
        return who.groups

    def _roles(self, team: str, person: str, groups: frozenset[str]) -> frozenset[Role]:
        found = self._settings().teams[team]
        roles = set()
        if _is_in(found.members, person, groups):
            roles.add(Role.MEMBER)
        if _is_in(found.leads, person, groups):
            roles |= {Role.LEAD, Role.MEMBER}
        return frozenset(roles)

    def _roles_anywhere(self, person: str, groups: frozenset[str]) -> frozenset[Role]:
        settings = self._settings()
        approvals = settings.approvals
        roles = {Role.ADMIN} if _is_in(settings.admins, person, groups) else set()
        if any(_is_in(policy.approvers, person, groups) for policy in approvals.policies):
            roles.add(Role.APPROVER)
        return frozenset(roles)

    def _elsewhere(self, caller: Caller) -> tuple[str, str]:
        channels = [
            f"<#{channel}>"
            for name, team in self._settings().teams.items()
            if caller.team in {None, name}
            for channel in team.channels
        ]
        return (
            "This channel belongs to no team, so this cannot be used here.",
            f"Use it in your team's channel: {', '.join(channels[:5])}.",
        )


def bound(name: str, team: Team, cluster: str | None) -> Team:
    """The team in the named cluster, or in its default cluster if none is named."""
    if cluster is None:
        return team
    if cluster not in team.reach:
        raise NotFoundError(
            f"{name} has no cluster {cluster}.", f"It has: {', '.join(team.reach)}."
        )
    return team.on(cluster)


def _choose(team: str | None, here: str | None, mine: list[str], place: ChannelPlace) -> str | None:
    if team is not None:
        return team
    if here is not None:
        return here
    return mine[0] if place is ChannelPlace.DIRECT and len(mine) == 1 else None


def _is_in(circle: Circle, person: str, groups: frozenset[str]) -> bool:
    return person in circle.people or not groups.isdisjoint(circle.groups)
