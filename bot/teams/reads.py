"""Answers about teams that need a read from their clusters; nothing is changed."""

from collections.abc import Callable, Mapping
from datetime import datetime

from sqlmodel import Session

from bot.cluster.cluster import Cluster
from bot.config import Settings
from bot.errors import ConflictError, NotAllowedError, NotFoundError
from bot.people.access import Access, Caller, Role, bound
from bot.quotas.overrides.request import OverrideRequest
from bot.quotas.service import QuotaService
from bot.slack.card import Reply
from bot.slack.markup import plain
from bot.teams.manifests import handover_of, patch_of
from bot.teams.objects import committed, read
from bot.teams.patches import quota_patch, removal_patch
from bot.teams.service import TeamPlan, TeamService
from bot.teams.show import TeamView, missing_in, team_card
from bot.teams.stores import TeamStores


class TeamReads:
    """What `/team show` and `--as-patch` answer."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        access: Access,
        clusters: Mapping[str, Cluster],
        quotas: QuotaService,
        teams: TeamService,
        stores: TeamStores,
    ) -> None:
        self._settings = settings
        self._access = access
        self._clusters = clusters
        self._quotas = quotas
        self._teams = teams
        self._stores = stores

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
            said=tuple(made.said) if made is not None else (),
        )

        def later() -> Reply:
            reached = [self._clusters[each] for each in view.team.reach if each in self._clusters]
            stores = self._stores
            missing = [e for at in reached for e in missing_in(settings, at, stores, view)]
            return team_card(view, settings, missing)

        return Reply((plain(f"Asking the cluster of {name}…"),), later=later)

    def handover(self, session: Session, caller: Caller, name: str, now: datetime) -> Reply:
        """The manifests of a team that was created from Slack, and its entry for the file."""
        self._refuse_others(caller, name)
        made = self._teams.made(session, name)
        if made is None or self._settings().teams[name].handed_over:
            raise ConflictError(
                f"Team {name} is set in quartermaster.yaml, so there is nothing to hand over.",
                "Leave out `--as-patch`.",
            )
        self._teams.record_patch(session, caller, "hand over", name, now)
        objects, said = read(made.objects), {**made.said, "handed_over": True}
        cluster = self._clusters[made.said["cluster"]]
        waits = (plain(f"Asking cluster {cluster.name} for its API versions…"),)
        return Reply(waits, later=lambda: handover_of(cluster, name, objects, said))

    def patch(self, session: Session, caller: Caller, plan: TeamPlan, now: datetime) -> Reply:
        """The manifests of a team that is not created."""
        settings, cluster = self._settings(), self._clusters[plan.cluster]
        self._teams.record_patch(session, caller, "create", plan.team, now)
        waits = (plain(f"Asking cluster {plan.cluster} for its API versions…"),)
        return Reply(waits, later=lambda: patch_of(settings, cluster, plan))

    def quota_patch(
        self, session: Session, caller: Caller, request: OverrideRequest, now: datetime
    ) -> Reply:
        """The manifest with a team's new quota, which is not changed."""
        settings = self._settings()
        name = bound(request.team, settings.teams[request.team], request.cluster).cluster
        committed(settings, name)
        patch = self._quotas.base_patch(session, request, caller, now)
        self._teams.record_patch(session, caller, "set", request.team, now)
        cluster, queues = self._clusters[name], self._quotas.queues(name)
        waits = (plain(f"Asking cluster {name} for the present manifest…"),)
        return Reply(waits, later=lambda: quota_patch(settings, cluster, queues, patch))

    def removal_patch(self, session: Session, caller: Caller, name: str, now: datetime) -> Reply:
        """The objects of a team to delete, none of which is deleted."""
        settings, leaving = self._settings(), self._teams.leaving(session, name)
        for each in leaving.team.reach:
            committed(settings, each)
        places = [(self._clusters[each], self._quotas.queues(each)) for each in leaving.team.reach]
        self._teams.record_patch(session, caller, "remove", name, now)
        waits = (plain(f"Asking the cluster of {name} for its objects…"),)
        return Reply(waits, later=lambda: removal_patch(settings, leaving, places))

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
