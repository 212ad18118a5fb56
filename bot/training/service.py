"""The operations on runs: checks requests and writes rows, without calls to clusters."""

import dataclasses
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from math import inf

from msgspec.structs import replace
from sqlmodel import Session

from bot.audit import Actor, record
from bot.config import Settings, Team
from bot.database.columns import new_id
from bot.database.prepared import savepoint
from bot.errors import ConflictError, NotAllowedError
from bot.people.access import Caller, Right
from bot.quotas import Engine
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.slack.grammar.parameters import Reference
from bot.slack.markup import FormatCommand
from bot.slack.messages import Subject, show_card
from bot.snapshots.run_snapshots import RestoredClaim, RunSnapshots
from bot.training import finding
from bot.training.external.listing import ExternalWorkload, ExternalWorkloads
from bot.training.external.stopping import stop_external
from bot.training.flows.naming import is_waiting
from bot.training.placing.choosing import Choosing, Option, TemplatesAsked, cost_of
from bot.training.placing.fitting import SpecFitting
from bot.training.placing.holding import Holding, cached_first
from bot.training.placing.limits import (
    CostlyRun,
    CostlyRunError,
    ExcessCost,
    above_limits,
    approval_words,
    asked_again,
)
from bot.training.placing.repeating import Repeating
from bot.training.runs.listing import Listing, listing
from bot.training.runs.stopping import stop
from bot.training.spec import RunSpec
from bot.training.submission.building import Submission, warnings
from bot.training.submission.new_run import (
    AskedRun,
    Present,
    Submitted,
    audited,
    insert_run,
    present,
    refuse_live,
    refuse_many,
    row_of,
)
from bot.training.submission.origins import is_owed, meant, started_on, with_claim
from bot.training.submission.outlook import Outlook, start_of
from bot.training.tables import KIND, Removal, Run, RunPhase
from bot.training.wording import ENDED


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
        self._fitting = SpecFitting(settings, engines, format_command, snapshots)
        self._choosing = Choosing(settings, self._fitting)
        self._repeating = Repeating(settings, self._choosing, self._fitting)

    def submit(
        self, session: Session, caller: Caller, asked: Submission, now: datetime
    ) -> Submitted:
        """Submits a run of the caller's team; UserError when it is not valid."""
        options = self._choosing.options(session, caller, asked)
        return self._record(session, caller, options, asked.name, now)

    def foresee(self, session: Session, caller: Caller, asked: Submission) -> Outlook:
        """What the submission would use and when it could start; UserError if it is not valid.

        Caches that its data lacks are not part of it.
        """
        options = self._choosing.options(session, caller, asked)
        name, team_name = asked.name, caller.team or ""
        options = self._choosing.fitted(session, caller, options)
        first = options[0]
        self._refuse_taken(name, team_name, first.team, present(session, team_name, name))
        prices = self._settings().training.prices
        costs = above_limits(caller, options, prices.currency, asked.at_once)
        return Outlook(
            team=team_name,
            spec=first.spec,
            start=start_of(first.spec, first.team, first.engine) if first.engine else None,
            hourly=cost_of(first, prices) or None,
            currency=prices.currency,
            warnings=(*map(approval_words, costs), *_warnings(options)),
            on=tuple(each.candidate for each in options if each.name),
        )

    def planned(self, session: Session, caller: Caller, run: Run) -> Option:
        """Where such a run would wait first, and its spec there; UserError if that is nowhere."""
        (option, *_), _ = self._repeating.again(session, caller, run)
        return dataclasses.replace(option, engine=self._engines(option.team.cluster))

    def asked(self, session: Session, caller: Caller, asked: Submission) -> AskedRun:
        """The run that a submission asks for, not submitted yet; UserError if it is not valid."""
        options = self._choosing.options(session, caller, asked)
        places = tuple(each.candidate for each in options if each.name)
        cluster, spec = options[0].team.cluster, options[0].spec
        return AskedRun(asked.name, cluster, spec, places, asked.at_once)

    def resubmit(
        self,
        session: Session,
        caller: Caller,
        run: Run,
        now: datetime,
        *,
        nodes: int | None = None,
        owner: str | None = None,
        on: TemplatesAsked | None = None,
    ) -> Submitted:
        """Submits the same run again for the caller; ConflictError while one is live.

        Its owner is `owner` if the caller restarts it for them. It waits where it did, or `on`
        other compute templates. The team's current settings for accounts and GPUs apply; the
        warnings say what differs.
        """
        options, changes = self._repeating.again(session, caller, run, on=on)
        if nodes:
            options = _each(options, lambda each: replace(each.spec, nodes=nodes))
        if is_owed(session, run):
            options = self._on_snapshot(session, caller, options, run, "")
        started = self._record(session, caller, options, run.name, now, owner=owner)
        return dataclasses.replace(started, warnings=(*changes, *started.warnings))

    def restart(
        self, session: Session, caller: Caller, run: Run, wanted: str, now: datetime
    ) -> Submitted:
        """Submits a run again on a PVC created from a snapshot: that of its end by default.

        The PVC is made where the run was, so the run keeps no other compute template.
        """
        options, changes = self._repeating.again(session, caller, run, only=run.candidate)
        options = self._on_snapshot(session, caller, options, run, wanted)
        started = self._record(session, caller, options, run.name, now)
        return dataclasses.replace(started, warnings=(*changes, *started.warnings))

    def begin(
        self,
        session: Session,
        caller: Caller,
        asked: AskedRun,
        now: datetime,
        approved: Sequence[ExcessCost] = (),
    ) -> Submitted:
        """Submits a run that was checked before: by an offer, for a sweep, or for an approval.

        CostlyRunError if its costs are above a limit and differ from those that were `approved`.
        """
        options = self._choosing.begun(caller, asked)
        options = _each(options, lambda each: self._fitting.renewed(each.team, each.spec))
        return self._record(session, caller, options, asked.name, now, approved=approved,
                            at_once=asked.at_once)  # fmt: skip

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
        return stop(session, Actor(caller.workspace_id, caller.person, caller.channel,
                                         run.team), run, why, now)  # fmt: skip

    def stop_jobs(self, session: Session, job_uids: Sequence[str], why: str, now: datetime) -> None:
        """Stops the live runs with these root uids for the given reason; others are left alone."""
        for run in finding.of_jobs(session, job_uids):
            self.stop_run(session, run, why, now)

    def stop_run(self, session: Session, run: Run, why: str, now: datetime) -> None:
        """Stops a run for the given reason, without a person who asks; one that ended is left."""
        if run.is_live:
            stop(session, Actor(run.workspace_id, None, None, run.team), run, why, now)

    def stop_external(
        self, session: Session, caller: Caller, external: ExternalWorkload, now: datetime
    ) -> Removal:
        """Stops an external workload; only leads and admins may."""
        return stop_external(session, caller, external, now)

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

    def unread_cluster(self, asked: AskedRun) -> str:
        """A cluster of the run that was not read completely yet; refusals there may be wrong."""
        clusters = dict.fromkeys((asked.cluster, *(each.cluster for each in asked.places)))
        engines = (self._engines(each) for each in clusters)
        unread = (each.cluster for each in engines if each and not each.queues.view.synced)
        return next(unread, "")

    def view_age_seconds(self, cluster: str) -> float:
        """The age of the view of the cluster's queues; infinite before the first read."""
        engine = self._engines(cluster)
        return engine.queues.work_age_seconds if engine else inf

    def _on_snapshot(
        self,
        session: Session,
        caller: Caller,
        options: Sequence[Option],
        run: Run,
        wanted: str = "",
    ) -> tuple[Option, ...]:
        row = meant(session, caller, run, wanted, self._format_command)
        for each in options:
            self._snapshots.refuse_restoring(caller, each.team, row)
        return _each(options, lambda each: started_on(each.spec, run, row))

    def _record(
        self,
        session: Session,
        caller: Caller,
        options: Sequence[Option],
        name: str,
        now: datetime,
        *,
        owner: str | None = None,
        approved: Sequence[ExcessCost] = (),
        at_once: int | None = None,
    ) -> Submitted:
        """Submits a run; CostlyRunError if it costs more than the caller may spend.

        Costs in `approved` do not count. Of a sweep, `at_once` such runs count.
        """
        team_name, run_id, asked = caller.team or "", new_id(), [each.spec for each in options]
        options = _each(options, lambda each: with_claim(each.spec, run_id))
        options = self._choosing.fitted(session, caller, options)
        there = present(session, team_name, name)
        self._refuse_taken(name, team_name, options[0].team, there)
        new = Submitted(run_id, team_name, name, there.newest + 1, options[0].spec)
        write = partial(self._write, session, caller, new, options, asked, now=now,
                        owner=owner or caller.person)  # fmt: skip
        currency = self._settings().training.prices.currency
        costs = above_limits(caller, options, currency, at_once)
        if set(costs) <= set(approved):
            return write()
        with savepoint(session):
            # It has to be possible otherwise; the error takes back what is written here.
            with cached_first():
                data = write().spec.data
            wanted = [asked_again(spec, data) for spec in asked]
            places = [dataclasses.replace(each, spec=spec).candidate
                      for each, spec in zip(options, wanted, strict=True)]  # fmt: skip
            raise CostlyRunError(CostlyRun(name, tuple(places), costs))

    def _write(
        self,
        session: Session,
        caller: Caller,
        new: Submitted,
        options: Sequence[Option],
        asked: Sequence[RunSpec],
        *,
        now: datetime,
        owner: str,
    ) -> Submitted:
        """Writes the rows of a new run; `asked` are its specs as they were requested."""
        holding = Holding(self._settings(), self._format_command)
        options = holding.held(session, new, options, asked, now)
        spec, team = options[0].spec, options[0].team
        places = tuple(each.candidate for each in options if each.name)
        run = dataclasses.replace(new, spec=spec, warnings=_warnings(options), on=places)
        if spec.origin is not None:
            use = RestoredClaim(run.run_id, run.reference, spec.origin.claim)
            self._snapshots.restore(session, caller, spec.origin.snapshot_id, use, now)
        phase = RunPhase.AFTER if is_waiting(session, spec) else RunPhase.ASKED
        insert_run(session, row_of(run, caller, team, now) | {"person": owner, "phase": phase})
        record(session, _actor(caller), "run.submit", (KIND, run.run_id), audited(run), at=now)
        subject = Subject(caller.workspace_id, KIND, run.run_id)
        if spec.cell is None or spec.cell.has_card:
            show_card(session, subject, caller.channel, now, live=True, owner=owner)
        wake(session, KIND, run.run_id, cluster_lane(team.cluster), now)
        return run

    def _refuse_taken(self, name: str, team_name: str, team: Team, there: Present) -> None:
        """ConflictError if the name is in use; LimitError if the team has too many runs."""
        refuse_live(name, there, self._format_command)
        refuse_many(team_name, there, team.limits.live_runs, self._format_command)

    def _team(self, caller: Caller) -> Team:
        return self._settings().teams[caller.team or ""]


def _each(options: Sequence[Option], spec_at: Callable[[Option], RunSpec]) -> tuple[Option, ...]:
    return tuple(dataclasses.replace(each, spec=spec_at(each)) for each in options)


def _warnings(options: Sequence[Option]) -> tuple[str, ...]:
    """What may keep the run from ever starting, by the template if there are several."""
    return tuple(
        f"{each.name}: {said}" if len(options) > 1 else said
        for each in options
        if each.engine is not None
        for said in warnings(each.spec, each.team, each.engine)
    )


def _actor(caller: Caller) -> Actor:
    return Actor(caller.workspace_id, caller.person, caller.channel, caller.team)
