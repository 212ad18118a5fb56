"""Requests changes of teams. Only checks and writes rows; the controller does the rest."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlmodel import Session, col, select

from bot.approvals import Approvals
from bot.audit import Actor, record
from bot.config import Settings, Team, TeamCreation, with_slack_team, with_slack_teams
from bot.errors import ConflictError, NotFoundError, UsageError
from bot.people.access import Access, Caller
from bot.quotas.engines.registry import Engines
from bot.quotas.engines.team_objects import TeamQuota
from bot.reconcile.due import wake
from bot.slack.messages import refresh_cards, show_card
from bot.teams.objects import engine_of
from bot.teams.record import POLICY, finish, teams_of_slack
from bot.teams.tables import CHANGE, ChangePhase, SlackTeam, TeamChange, Verb
from bot.teams.uses import TeamUses, kept_for

OFF = "Creating and removing teams from Slack is switched off."
SWITCH_ON = (
    "A platform admin can add `team_creation: {}` to quartermaster.yaml and upgrade the Helm"
    " release, which grants the rights."
)


@dataclass(frozen=True)
class TeamRequest:
    """A requested team; names that are not given are that of the team.

    `members` and `leads` are ids of people and user groups.
    """

    team: str
    gpus: int
    namespace: str | None = None
    queue: str | None = None
    gpu_type: str | None = None
    above: str | None = None
    interactive_gpus: int = 0
    interactive_type: str | None = None
    cluster: str | None = None
    channel: str | None = None
    members: tuple[str, ...] = ()
    leads: tuple[str, ...] = ()


@dataclass(frozen=True)
class TeamPlan:
    """A team that can be created: where, its quota, and what quartermaster.yaml would say of it."""

    team: str
    cluster: str
    quota: TeamQuota
    said: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TeamLeaving:
    """A team that GitOps would remove; `uses` are what the bot keeps for it, as sentences."""

    name: str
    team: Team
    is_in_file: bool
    uses: tuple[str, ...]


class TeamService:
    """The service that handlers call; each method writes in the caller's transaction.

    `in_file` are the settings without the teams that were created from Slack. The right of a
    `Caller` to use the verb was checked before.
    """

    def __init__(
        self,
        settings: Callable[[], Settings],
        in_file: Callable[[], Settings],
        access: Access,
        approvals: Approvals,
        engines: Engines,
        uses: Sequence[TeamUses],
    ) -> None:
        self._settings = settings
        self._in_file = in_file
        self._access = access
        self._approvals = approvals
        self._engines = engines
        self._uses = uses

    def plan(self, session: Session, asked: TeamRequest) -> TeamPlan:
        """What a request would create, as settings and watches show it; UserError if impossible."""
        settings = self._now(session)
        self._creation(settings)
        self._refuse_taken(session, settings, asked.team)
        _refuse_type_alone(asked)
        cluster = _cluster_of(settings, asked.cluster)
        quota = TeamQuota(
            asked.namespace or asked.team, asked.queue or asked.team, asked.gpus,
            asked.gpu_type or "", asked.above or "", asked.interactive_gpus,
            asked.interactive_type or "",
        )  # fmt: skip
        quota = engine_of(settings, cluster).teams.settle(quota, self._engines.of(cluster).queues)
        _refuse_shared(settings, cluster, quota)
        said = _said(asked, cluster, quota)
        fits = with_slack_team(settings, asked.team, said)
        if isinstance(fits, str):
            raise ConflictError(f"Team {asked.team} does not fit the settings: {fits}", _CHANGE)
        return TeamPlan(asked.team, cluster, quota, said)

    def create(self, session: Session, caller: Caller, plan: TeamPlan, now: datetime) -> TeamChange:
        """Begins to create a team: a dry run, then the approval, then the objects."""
        self._approvals.foresee(session, POLICY, caller)
        quota = plan.quota
        row = TeamChange(
            workspace_id=caller.workspace_id,
            verb=Verb.CREATE,
            team=plan.team,
            person=caller.person,
            channel=caller.channel,
            cluster=plan.cluster,
            namespace=quota.namespace,
            queue=quota.queue,
            gpus=quota.gpus,
            gpu_type=quota.gpu_type,
            above=quota.above,
            interactive_gpus=quota.interactive_gpus,
            interactive_type=quota.interactive_type,
            said=plan.said,
            asked_at=now,
            since=now,
        )
        return self._begin(session, row, now)

    def removable(self, session: Session, team: str) -> SlackTeam:
        """A team that can be removed, as rows show it; UserError says what needs it."""
        self._creation(self._settings())
        row = self._made(session, team)
        self._refuse_busy(session, team)
        uses = kept_for(session, team, self._uses)
        if uses:
            raise ConflictError(
                f"Team {team} is still in use. {' '.join(uses)} Nothing was changed.",
                "End or delete these first; then remove the team.",
            )
        return row

    def remove(self, session: Session, caller: Caller, team: str, now: datetime) -> TeamChange:
        """Begins to remove a team that nothing uses: the approval, then its objects."""
        made = self.removable(session, team)
        self._approvals.foresee(session, POLICY, caller)
        row = TeamChange(
            workspace_id=caller.workspace_id,
            verb=Verb.REMOVE,
            team=team,
            person=caller.person,
            channel=caller.channel,
            cluster=made.said["cluster"],
            namespace=made.said["namespace"],
            queue=made.said["queue"],
            said=made.said,
            objects=made.objects,
            asked_at=now,
            since=now,
        )
        return self._begin(session, row, now)

    def leaving(self, session: Session, name: str) -> TeamLeaving:
        """What is known of a team that GitOps would remove; NotFoundError if there is none."""
        settings = self._now(session)
        self._creation(settings)
        team = settings.teams.get(name)
        if team is None:
            raise NotFoundError(
                f"There is no team {name}.", f"The teams are: {', '.join(self._access.teams())}."
            )
        uses = tuple(kept_for(session, name, self._uses))
        return TeamLeaving(name, team, is_in_file=self.is_in_file(name), uses=uses)

    def record_patch(
        self, session: Session, caller: Caller, verb: str, team: str, now: datetime
    ) -> None:
        """Writes down that somebody was given the manifests of a change for GitOps."""
        actor = Actor(caller.workspace_id, caller.person, caller.channel, team)
        record(session, actor, "team.patch", ("team", team), {"change": verb}, at=now)

    def get(self, session: Session, row_id: str) -> TeamChange:
        """The change of a button; raises NotFoundError if there is none."""
        row = session.get(TeamChange, row_id)
        if row is None:
            raise NotFoundError("This change of a team no longer exists.")
        return row

    def withdraw(self, session: Session, caller: Caller, row: TeamChange, now: datetime) -> None:
        """Withdraws a change; raises ConflictError if it deletes already, or has ended.

        A team that is being created keeps what is there; the controller then ends the change.
        """
        if not row.can_be_withdrawn:
            stands = "started" if row.is_live else "ended"
            stands = "been withdrawn" if row.is_live and row.withdrawn_by else stands
            raise ConflictError(
                f"This change of team {row.team} has already {stands}.",
                "Your click changed nothing.",
            )
        if row.phase != ChangePhase.MAKING:
            self._approvals.void_for(session, (CHANGE, row.id), "it was withdrawn", now)
        row.withdrawn_by = caller.person
        actor = Actor(caller.workspace_id, caller.person, caller.channel, row.team)
        record(session, actor, "team.withdraw", (CHANGE, row.id), {"team": row.team}, at=now)
        if row.phase == ChangePhase.MAKING:
            session.add(row)
            refresh_cards(session, row.subject, live=True)
            wake(session, CHANGE, row.id, row.lane, now)
            return
        finish(session, row, ChangePhase.WITHDRAWN, now)

    def undecided(self, session: Session) -> Sequence[TeamChange]:
        """The changes that wait for a decision, the oldest first."""
        asked = select(TeamChange).where(col(TeamChange.phase) == ChangePhase.ASKED)
        return session.exec(asked.order_by(col(TeamChange.id))).all()

    def made(self, session: Session, team: str) -> SlackTeam | None:
        """The row of a team that was created from Slack, None for others."""
        return session.get(SlackTeam, (self._settings().workspace, team))

    def is_in_file(self, team: str) -> bool:
        """Whether quartermaster.yaml names the team."""
        return team in self._in_file().teams

    def _begin(self, session: Session, row: TeamChange, now: datetime) -> TeamChange:
        session.add(row)
        session.flush()
        facts = {"team": row.team, "cluster": row.cluster, "namespace": row.namespace}
        facts |= {"queue": row.queue, "gpus": str(row.gpus)} if row.verb == Verb.CREATE else {}
        actor = Actor(row.workspace_id, row.person, row.channel, row.team)
        record(session, actor, f"team.{row.verb}", (CHANGE, row.id), facts, at=now)
        show_card(session, row.subject, row.channel, now, live=True, owner=row.person)
        wake(session, CHANGE, row.id, row.lane, now)
        return row

    def _creation(self, settings: Settings) -> TeamCreation:
        if settings.team_creation is None:
            raise ConflictError(OFF, SWITCH_ON)
        return settings.team_creation

    def _now(self, session: Session) -> Settings:
        """The settings with the teams of this moment: another process may have added one."""
        in_file = self._in_file()
        return with_slack_teams(in_file, teams_of_slack(session, in_file.workspace))[0]

    def _refuse_taken(self, session: Session, settings: Settings, team: str) -> None:
        if team in settings.teams:
            raise ConflictError(
                f"There is already a team {team}.",
                f"`/team show {team}` shows it. `/team set {team} --gpus N` changes its quota.",
            )
        if self.made(session, team) is not None:
            raise ConflictError(
                f"Team {team} was created from Slack, and does not fit quartermaster.yaml.",
                f"`quartermaster doctor` says why. Change the file, or `/team remove {team}`.",
            )
        self._refuse_busy(session, team)

    def _refuse_busy(self, session: Session, team: str) -> None:
        live = session.exec(
            select(TeamChange).where(
                col(TeamChange.team) == team, col(TeamChange.ended_at).is_(None)
            )
        ).first()
        if live is not None:
            raise ConflictError(
                f"<@{live.person}> already requested to {live.verb} team {team}.",
                f"Its card in <#{live.channel}> shows the progress.",
            )

    def _made(self, session: Session, team: str) -> SlackTeam:
        found = self.made(session, team)
        if found is None:
            if team not in self._settings().teams:
                raise NotFoundError(
                    f"There is no team {team}.",
                    f"The teams are: {', '.join(self._access.teams())}.",
                )
            raise ConflictError(
                f"Team {team} was not created from Slack, so nothing in the cluster is"
                " Quartermaster's to remove.",
                f"Remove `teams.{team}` from quartermaster.yaml, and its objects by hand.",
            )
        if self.is_in_file(team):
            raise ConflictError(
                f"quartermaster.yaml names {team}, too.",
                f"Remove `teams.{team}` there first; then remove the team.",
            )
        return found


_CHANGE = "Change that, for example the channel or the namespace."


def _cluster_of(settings: Settings, named: str | None) -> str:
    known = tuple(settings.clusters)
    if named is None and len(known) == 1:
        return known[0]
    if named not in known:
        said = "There are several clusters." if named is None else f"There is no cluster {named}."
        raise NotFoundError(said, f"Add `--cluster` with one of: {', '.join(known)}.")
    return str(named)


def _refuse_type_alone(asked: TeamRequest) -> None:
    if asked.interactive_type and not asked.interactive_gpus:
        raise UsageError(
            "`--interactive-type` is the GPU type of `--interactive-gpus`, which is missing.",
            "Add for example `--interactive-gpus 2`.",
        )


def _refuse_shared(settings: Settings, cluster: str, quota: TeamQuota) -> None:
    """A namespace of another team would let both read each other's data."""
    for name, team in settings.teams.items():
        if cluster in team.reach and team.namespace == quota.namespace:
            raise ConflictError(
                f"Namespace {quota.namespace} belongs to team {name}.",
                "Choose another one with `--namespace`.",
            )


def _said(asked: TeamRequest, cluster: str, quota: TeamQuota) -> dict[str, Any]:
    """What quartermaster.yaml would say of the team."""
    said: dict[str, Any] = {
        "cluster": cluster, "namespace": quota.namespace, "queue": quota.queue
    }  # fmt: skip
    if quota.interactive_gpus:
        said["interactive_queue"] = quota.for_sessions.queue
    if asked.channel is not None:
        said["channels"] = [asked.channel]
    for key, ids in (("members", asked.members), ("leads", asked.leads)):
        if ids:
            said[key] = {
                "people": [each for each in ids if not each.startswith("S")],
                "groups": [each for each in ids if each.startswith("S")],
            }
    return said
