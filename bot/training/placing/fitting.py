"""Builds the spec of a run for one cluster of its team, and checks that the cluster can run it."""

import dataclasses
from collections.abc import Callable

from msgspec.structs import replace
from sqlmodel import Session

from bot.config import ClusterSettings, Fractions, Settings, Team
from bot.people.access import Caller
from bot.quotas import Engine
from bot.slack.markup import FormatCommand
from bot.snapshots.run_snapshots import RunSnapshots
from bot.training.flows.naming import forerunners, named
from bot.training.kinds.interactive import SESSIONS
from bot.training.kinds.kind import Site
from bot.training.kinds.pods.security import security_of
from bot.training.queueing import team_for
from bot.training.records.network import filled_up
from bot.training.spec import RunSpec
from bot.training.submission.building import (
    Submission,
    fill_in,
    fitted,
    refuse_clashes,
    refuse_gaps,
    refuse_secrets,
)
from bot.training.submission.claims import reused
from bot.training.submission.data import refuse_lost_volumes
from bot.training.submission.end_snapshots import refuse_unfit, wished
from bot.training.submission.new_run import refuse_excess, refuse_forbidden
from bot.training.submission.own_secrets import refuse_named
from bot.training.submission.renewing import as_today

# Made once: that takes longer than most of what a submission does.
_USUAL = ClusterSettings()


@dataclasses.dataclass(frozen=True)
class SpecFitting:
    """What a submission becomes in one cluster; `engines` returns the quota engine of a cluster.

    The team that its methods take is bound to the cluster.
    """

    settings: Callable[[], Settings]
    engines: Callable[[str], Engine | None]
    format_command: FormatCommand
    snapshots: RunSnapshots

    def wished(self, session: Session, caller: Caller, team: Team, asked: Submission) -> RunSpec:
        """The spec of a submission; UserError if it is not valid."""
        refuse_secrets(asked)
        refuse_clashes(asked)
        engine = self.engines(team.cluster)
        there = team.for_sessions if asked.kind == SESSIONS else team
        asked = filled_up(asked, self.settings(), there, engine)
        refuse_gaps(asked)
        spec = fill_in(asked, team, self.settings().quotas.resource, self._shares(team))
        told = {"preset": asked.preset, "gpu_type": asked.gpu_type, "artifacts": asked.paths}
        secured = security_of(team.admission, privileged=asked.privileged)
        after = named(session, caller.team or "", asked.after, self.format_command)
        return replace(
            spec, data=asked.versions, snapshot=wished(asked), security=secured, after=after, **told
        )

    def fitted(
        self, session: Session, caller: Caller, team: Team, spec: RunSpec
    ) -> tuple[RunSpec, Engine | None]:
        """The spec as the cluster can run it, with its engine; UserError if it must not run."""
        team_name, engine = caller.team or "", self.engines(team.cluster)
        refuse_forbidden(spec, team_name, team.admission)
        refuse_excess(spec, team_name, team)
        refuse_named(spec, self._cluster(team))
        refuse_unfit(spec, caller, team, self.snapshots)
        if engine is not None:
            before = forerunners(session, spec, team)
            site = self._site(caller, team_for(spec, team), engine)
            site = dataclasses.replace(site, forerunners=before)
            spec = fitted(spec, site, engine)
        refuse_lost_volumes(session, spec, team)
        return spec, engine

    def renewed(self, team: Team, spec: RunSpec) -> RunSpec:
        """The spec of an earlier run under the team's current settings."""
        return as_today(spec, team, self.settings().quotas.resource, self._shares(team))

    def reused(self, caller: Caller, team: Team, root_name: str, spec: RunSpec) -> RunSpec:
        """The spec of an earlier run with the existing volumes that were created for it."""
        engine = self.engines(team.cluster)
        if engine is None:
            return spec
        return reused(spec, root_name, self._site(caller, team, engine))

    def _shares(self, team: Team) -> Fractions | None:
        """How its cluster shares GPUs; None if the quota engine shares them."""
        engine = self.engines(team.cluster)
        is_shared = engine is not None and engine.words.shares_gpus
        return None if is_shared else self._cluster(team).fractions

    def _site(self, caller: Caller, team: Team, engine: Engine) -> Site:
        return Site(team, engine.queues.view, self._cluster(team), caller.team or "")

    def _cluster(self, team: Team) -> ClusterSettings:
        return self.settings().clusters.get(team.cluster, _USUAL)
