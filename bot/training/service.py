"""The operations on runs: checks requests and writes rows, without calls to clusters."""

import dataclasses
from collections.abc import Callable, Sequence
from datetime import datetime
from math import inf

from msgspec.structs import replace
from sqlmodel import Session

from bot.audit import Actor, record
from bot.config import ClusterSettings, Fractions, Settings, Team
from bot.database.columns import new_id
from bot.errors import ConflictError, NotAllowedError
from bot.people.access import Caller, Right, bound
from bot.quotas import Engine
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.slack.grammar.parameters import Reference
from bot.slack.markup import FormatCommand
from bot.slack.messages import Subject, refresh_cards, show_card
from bot.snapshots.run_snapshots import RestoredClaim, RunSnapshots
from bot.training import finding
from bot.training.external.listing import ExternalWorkload, ExternalWorkloads
from bot.training.flows.naming import carried, forerunners, is_waiting, named
from bot.training.kinds import ROOTS, root_named
from bot.training.kinds.kind import Site
from bot.training.kinds.pods.security import security_of
from bot.training.records.network import filled_up
from bot.training.runs.listing import Listing, listing
from bot.training.spec import RunSpec, as_own, asked_spec
from bot.training.submission.building import (
    Submission,
    fill_in,
    fitted,
    refuse_clashes,
    refuse_gaps,
    refuse_secrets,
    warnings,
)
from bot.training.submission.claims import reused
from bot.training.submission.data import Reader, refuse_lost_volumes, use_volumes, with_data
from bot.training.submission.end_snapshots import refuse_unfit, wished
from bot.training.submission.new_run import (
    AskedRun,
    Present,
    Submitted,
    audited,
    insert_run,
    present,
    refuse_excess,
    refuse_forbidden,
    refuse_live,
    refuse_many,
    row_of,
)
from bot.training.submission.origins import is_owed, meant, started_on, with_claim
from bot.training.submission.outlook import Outlook, hourly_price, start_of
from bot.training.submission.own_secrets import refuse_named
from bot.training.submission.renewing import as_today, differences
from bot.training.tables import KIND, REMOVAL, Removal, Run, RunIntent, RunPhase, reference
from bot.training.wording import ENDED

# Made once: that takes longer than most of what a submission does.
_USUAL = ClusterSettings()


class TrainingService:
    """The operations that handlers call; each writes in the transaction of the caller.

    `engines` returns the quota engine of a cluster. People are `Caller`s whose right to
    use the verb was checked before. `words` formats a command.
    """

    def __init__(
        self,
        settings: Callable[[], Settings],
        engines: Callable[[str], Engine | None],
        installation: str,
        format_command: FormatCommand,
        snapshots: RunSnapshots,
    ) -> None:
        self._settings = settings
        self._engines = engines
        self._external = ExternalWorkloads(installation)
        self._format_command = format_command
        self._snapshots = snapshots

    def submit(
        self, session: Session, caller: Caller, asked: Submission, now: datetime
    ) -> Submitted:
        """Submits a run of the caller's team; UserError when it is not valid."""
        team, spec = self._wished(session, caller, asked)
        return self._record(session, caller, team, asked.name, spec, now)

    def foresee(self, session: Session, caller: Caller, asked: Submission) -> Outlook:
        """What the submission would use and when it could start; UserError if it is not valid.

        Caches that its data lacks are not part of it.
        """
        team, spec = self._wished(session, caller, asked)
        name, team_name = asked.name, caller.team or ""
        spec, engine = self._fitted(session, caller, team, spec)
        self._refuse_taken(name, team_name, team, present(session, team_name, name))
        start = start_of(spec, team, engine) if engine else None
        prices = self._settings().training.prices
        return Outlook(
            team=team_name,
            spec=spec,
            start=start,
            hourly=hourly_price(spec, start, prices),
            currency=prices.currency,
            warnings=warnings(spec, team, engine) if engine else (),
        )

    def asked(self, session: Session, caller: Caller, asked: Submission) -> AskedRun:
        """The run that a submission asks for, not submitted yet; UserError if it is not valid."""
        team, spec = self._wished(session, caller, asked)
        return AskedRun(asked.name, team.cluster, spec)

    def resubmit(
        self,
        session: Session,
        caller: Caller,
        run: Run,
        now: datetime,
        *,
        nodes: int | None = None,
        owner: str | None = None,
    ) -> Submitted:
        """Submits the same run again for the caller; ConflictError while one is live.

        Its owner is `owner` if the caller restarts it for them. The team's current settings for
        accounts and GPUs apply; the warnings say what differs.
        """
        spec, team, changes = self._again(session, caller, run)
        spec = replace(spec, nodes=nodes) if nodes else spec
        if is_owed(session, run):
            spec = self._on_snapshot(session, caller, team, run, spec, "")
        started = self._record(session, caller, team, run.name, spec, now, owner=owner)
        return dataclasses.replace(started, warnings=(*changes, *started.warnings))

    def restart(
        self, session: Session, caller: Caller, run: Run, wanted: str, now: datetime
    ) -> Submitted:
        """Submits a run again on a PVC created from a snapshot: that of its end by default."""
        spec, team, changes = self._again(session, caller, run)
        spec = self._on_snapshot(session, caller, team, run, spec, wanted)
        started = self._record(session, caller, team, run.name, spec, now)
        return dataclasses.replace(started, warnings=(*changes, *started.warnings))

    def begin(self, session: Session, caller: Caller, asked: AskedRun, now: datetime) -> Submitted:
        """Submits a run whose request was checked before: by an offer, or by a sweep."""
        team = bound(caller.team or "", self._team(caller), asked.cluster)
        spec = as_today(asked.spec, team, self._settings().quotas.resource, self._shares(team))
        return self._record(session, caller, team, asked.name, spec, now)

    def stop(self, session: Session, caller: Caller, run: Run, now: datetime, why: str = "") -> Run:
        """Stops a run: the caller's own, or any run for leads and admins."""
        if run.person != caller.person and not caller.may(Right.RUN_STOP_ANY):
            raise NotAllowedError(
                f"{run.reference} belongs to <@{run.person}>.",
                "They can stop it, and so can a lead of the team or an admin.",
            )
        if not run.is_live:
            raise ConflictError(
                f"{run.reference} is not running: it {ENDED[RunPhase(run.phase)]}.",
                "There is nothing to stop.",
            )
        run.again_on = None
        return self._stop(session, Actor(caller.workspace_id, caller.person, caller.channel,
                                         run.team), run, why, now)  # fmt: skip

    def stop_jobs(self, session: Session, job_uids: Sequence[str], why: str, now: datetime) -> None:
        """Stops the live runs with these root uids for the given reason; others are left alone."""
        for run in finding.of_jobs(session, job_uids):
            if run.is_live:
                self._stop(session, Actor(run.workspace_id, None, None, run.team), run, why, now)

    def stop_external(
        self, session: Session, caller: Caller, external: ExternalWorkload, now: datetime
    ) -> Removal:
        """Stops an external workload; only leads and admins may."""
        if not caller.may(Right.RUN_STOP_ANY):
            raise NotAllowedError(
                f"{external.name} was not started by Quartermaster.",
                "A lead of the team or an admin can stop it.",
            )
        if root_named(external.kind) is None:
            kinds = ", ".join(f"{each.kind}s" for each in ROOTS)
            raise ConflictError(
                f"{external.name} is a {external.kind}; only {kinds} can be stopped from here.",
                f"Use kubectl in namespace {external.namespace}.",
            )
        team_name = caller.team or ""
        removal = Removal(
            workspace_id=caller.workspace_id,
            team=team_name,
            person=caller.person,
            channel=caller.channel,
            cluster=external.cluster,
            namespace=external.namespace,
            kind=external.kind,
            job_name=external.name,
            job_uid=external.uid,
            owner=external.owner,
            asked_at=now,
        )
        session.add(removal)
        session.flush()
        facts = {"job": external.name, "uid": external.uid, "owner": external.owner or "unknown"}
        record(session, _actor(caller), "run.stop_stranger", (REMOVAL, removal.id), facts, at=now)
        wake(session, REMOVAL, removal.id, cluster_lane(removal.cluster), now)
        show_card(session, removal.subject, caller.channel, now, live=False, owner=caller.person)
        return removal

    def find(self, session: Session, team: str, reference: Reference) -> Run:
        """The run with that reference; NotFoundError lists the existing runs."""
        run = finding.numbered(session, team, reference)
        if run is None:
            raise finding.unknown(session, team, reference, self._format_command)
        return run

    def find_external(self, team: str, name: str) -> ExternalWorkload | None:
        """The live external workload of that name in the team's queue."""
        return next((each for each in self.external_workloads(team) if each.name == name), None)

    def get(self, session: Session, run_id: str) -> Run:
        """The run of a card's button; NotFoundError when it no longer exists."""
        return finding.get(session, run_id)

    def listing(self, session: Session, team: str) -> Listing:
        """The team's newest live runs and those that ended last, as its list shows them."""
        return listing(session, team)

    def external_workloads(self, team: str) -> list[ExternalWorkload]:
        """The external workloads that wait or run in the team's queue."""
        found = self._settings().teams[team]
        engines = (self._engines(cluster) for cluster in found.reach)
        return [
            each
            for engine in engines
            if engine is not None
            for each in self._external.of(engine, found)
        ]

    def silent_clusters(self, team: str) -> tuple[str, ...]:
        """The clusters of a team that do not respond at the moment."""
        engines = map(self._engines, self._settings().teams[team].reach)
        return tuple(each.cluster for each in engines if each is not None and each.trouble())

    def view_age_seconds(self, cluster: str) -> float:
        """The age of the view of the cluster's queues; infinite before the first read."""
        engine = self._engines(cluster)
        return engine.queues.work_age_seconds if engine else inf

    def _again(
        self, session: Session, caller: Caller, run: Run
    ) -> tuple[RunSpec, Team, tuple[str, ...]]:
        """The original request of a run on its existing volumes, with its team and cluster.

        The sentences say what differs: by the current settings of the team, and by the runs that
        it waits for.
        """
        after, dropped = carried(session, run)
        before, team = (
            replace(as_own(asked_spec(run)), origin=None, after=after),
            self._team(caller),
        )
        team = team.on(run.cluster) if run.cluster in team.reach else team
        spec = as_today(before, team, self._settings().quotas.resource, self._shares(team))
        changes = (*differences(before, spec), *dropped)
        engine = self._engines(team.cluster)
        if engine is None:
            return spec, team, changes
        site = self._site(caller, team, engine)
        return reused(spec, run.job_name, site), team, changes

    def _shares(self, team: Team) -> Fractions | None:
        """How its cluster shares GPUs; None if the quota engine shares them."""
        engine = self._engines(team.cluster)
        is_shared = engine is not None and engine.words.shares_gpus
        return None if is_shared else self._cluster(team).fractions

    def _on_snapshot(
        self,
        session: Session,
        caller: Caller,
        team: Team,
        run: Run,
        spec: RunSpec,
        wanted: str = "",
    ) -> RunSpec:
        row = meant(session, caller, run, wanted, self._format_command)
        self._snapshots.refuse_restoring(caller, team, row)
        return started_on(spec, run, row)

    def _record(
        self,
        session: Session,
        caller: Caller,
        team: Team,
        name: str,
        spec: RunSpec,
        now: datetime,
        *,
        owner: str | None = None,
    ) -> Submitted:
        team_name, owner = caller.team or "", owner or caller.person
        whole, run_id = AskedRun(name, team.cluster, spec), new_id()
        spec, engine = self._fitted(session, caller, team, with_claim(spec, run_id))
        there = present(session, team_name, name)
        self._refuse_taken(name, team_name, team, there)
        number = there.newest + 1
        reader = Reader(run_id, reference(name, number), team_name, team, whole, engine)
        spec = with_data(session, spec, reader, self._settings(), self._format_command, now)
        use_volumes(session, spec, reader)
        warned = warnings(spec, team, engine) if engine else ()
        run = Submitted(run_id, team_name, name, number, spec, warned)
        if spec.origin is not None:
            use = RestoredClaim(run_id, run.reference, spec.origin.claim)
            self._snapshots.restore(session, caller, spec.origin.snapshot_id, use, now)
        phase = RunPhase.AFTER if is_waiting(session, spec) else RunPhase.ASKED
        insert_run(session, row_of(run, caller, team, now) | {"person": owner, "phase": phase})
        record(session, _actor(caller), "run.submit", (KIND, run_id), audited(run), at=now)
        subject = Subject(caller.workspace_id, KIND, run_id)
        if spec.cell is None or spec.cell.has_card:
            show_card(session, subject, caller.channel, now, live=True, owner=owner)
        wake(session, KIND, run_id, cluster_lane(team.cluster), now)
        return run

    def _wished(self, session: Session, caller: Caller, asked: Submission) -> tuple[Team, RunSpec]:
        """The team in the cluster of a submission, and its spec; UserError if it is not valid."""
        team = bound(caller.team or "", self._team(caller), asked.cluster)
        refuse_secrets(asked)
        refuse_clashes(asked)
        engine = self._engines(team.cluster)
        asked = filled_up(asked, self._settings(), team, engine)
        refuse_gaps(asked)
        spec = fill_in(asked, team, self._settings().quotas.resource, self._shares(team))
        told = {"preset": asked.preset, "gpu_type": asked.gpu_type, "artifacts": asked.paths}
        secured = security_of(team.admission, privileged=asked.privileged)
        after = named(session, caller.team or "", asked.after, self._format_command)
        return team, replace(
            spec, data=asked.versions, snapshot=wished(asked), security=secured, after=after, **told
        )

    def _fitted(
        self, session: Session, caller: Caller, team: Team, spec: RunSpec
    ) -> tuple[RunSpec, Engine | None]:
        """The spec as the cluster can run it, with its engine; UserError if it must not run."""
        team_name, engine = caller.team or "", self._engines(team.cluster)
        refuse_forbidden(spec, team_name, team.admission)
        refuse_excess(spec, team_name, team)
        refuse_named(spec, self._cluster(team))
        refuse_unfit(spec, caller, team, self._snapshots)
        if engine is not None:
            before = forerunners(session, spec, team)
            site = dataclasses.replace(self._site(caller, team, engine), forerunners=before)
            spec = fitted(spec, site, engine)
        refuse_lost_volumes(session, spec, team)
        return spec, engine

    def _refuse_taken(self, name: str, team_name: str, team: Team, there: Present) -> None:
        """ConflictError if the name is in use; LimitError if the team has too many runs."""
        refuse_live(name, there, self._format_command)
        refuse_many(team_name, there, team.limits.live_runs, self._format_command)

    def _site(self, caller: Caller, team: Team, engine: Engine) -> Site:
        return Site(team, engine.queues.view, self._cluster(team), caller.team or "")

    def _cluster(self, team: Team) -> ClusterSettings:
        return self._settings().clusters.get(team.cluster, _USUAL)

    def _stop(self, session: Session, actor: Actor, run: Run, why: str, now: datetime) -> Run:
        if run.wanted != RunIntent.STOP:
            run.wanted, run.stop_by, run.stop_at, run.stop_why = (
                RunIntent.STOP, actor.person, now, why,
            )  # fmt: skip
            session.add(run)
            facts = {"name": run.reference} | ({"why": why} if why else {})
            record(session, actor, "run.stop", (KIND, run.id), facts, at=now)
            refresh_cards(session, run.subject, live=True)
        wake(session, KIND, run.id, cluster_lane(run.cluster), now)
        return run

    def _team(self, caller: Caller) -> Team:
        return self._settings().teams[caller.team or ""]


def _actor(caller: Caller) -> Actor:
    return Actor(caller.workspace_id, caller.person, caller.channel, caller.team)
