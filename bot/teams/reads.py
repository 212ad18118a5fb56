"""Answers about teams that need a read from their clusters; nothing is changed."""

from collections.abc import Callable, Mapping

from sqlmodel import Session

from bot.cluster.cluster import Cluster
from bot.config import Settings
from bot.errors import NotAllowedError, NotFoundError
from bot.people.access import Access, Caller, Role
from bot.quotas.service import QuotaService
from bot.slack.card import Reply
from bot.slack.markup import plain
from bot.teams.manifests import patch_of
from bot.teams.objects import read
from bot.teams.service import TeamPlan, TeamService
from bot.teams.show import TeamView, missing_in, team_card


class TeamReads:
    """What `/team show` and `--as-patch` answer."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        access: Access,
        clusters: Mapping[str, Cluster],
        quotas: QuotaService,
        teams: TeamService,
    ) -> None:
        self._settings = settings
        self._access = access
        self._clusters = clusters
        self._quotas = quotas
        self._teams = teams

    def show(self, session: Session, caller: Caller, name: str) -> Reply:
        """A team for its members and for admins; what its clusters lack follows."""
        settings = self._settings()
        self._refuse_others(caller, name)
        circle = settings.approvals.quota_override.approvers
        made = self._teams.made(session, name)
        view = TeamView(
            name=name,
            team=settings.teams[name],
            quotas=self._quotas.status(session, (name,)),
            approvers=tuple(sorted(self._access.people_in(session, circle))),
            objects=tuple(read(made.objects)) if made is not None else (),
            is_made=made is not None,
            is_in_file=self._teams.is_in_file(name),
        )

        def later() -> Reply:
            reached = [self._clusters[each] for each in view.team.reach if each in self._clusters]
            missing = [line for each in reached for line in missing_in(settings, each, view)]
            return team_card(view, settings, missing)

        return Reply((plain(f"Asking the cluster of {name}…"),), later=later)

    def patch(self, plan: TeamPlan) -> Reply:
        """The manifests of a team that is not created."""
        settings, cluster = self._settings(), self._clusters[plan.cluster]
        waits = (plain(f"Asking cluster {plan.cluster} for its API versions…"),)
        return Reply(waits, later=lambda: patch_of(settings, cluster, plan))

    def _refuse_others(self, caller: Caller, name: str) -> None:
        teams = self._settings().teams
        is_platform = not caller.roles.isdisjoint({Role.ADMIN, Role.APPROVER})
        if name not in teams:
            known = teams if is_platform else caller.teams
            raise NotFoundError(f"There is no team {name}.", f"The teams are: {', '.join(known)}.")
        if not is_platform and name not in caller.teams:
            raise NotAllowedError(
                f"You are not a member of {name}.",
                "Its members and platform admins can see it.",
            )
