"""Carries out what was decided for a sweep: submits the run of a cell, or ends the sweep."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec
from sqlmodel import Session

from bot.audit import Actor, record
from bot.config import Settings
from bot.database.prepared import savepoint
from bot.errors import UserError
from bot.people.access import Access, Caller, Right, UnknownPersonError
from bot.reconcile.due import wake
from bot.slack.markup import FormatCommand
from bot.slack.messages import refresh_cards
from bot.training import finding
from bot.training.flows.awaited import Awaited, awaited_of
from bot.training.placing.limits import CostlyRunError, ExcessCost, changed_words
from bot.training.service import TrainingService
from bot.training.spec import RunSpec
from bot.training.submission.new_run import AskedRun, present
from bot.training.sweeps import notices
from bot.training.sweeps.cells import Cell, cell_name
from bot.training.sweeps.early import EarlyStop
from bot.training.sweeps.making import asked_runs, run_of
from bot.training.sweeps.tables import Sweep, SweepPhase
from bot.training.tables import SWEEP
from bot.training.wording import name_of

AGAIN = "Retrying every minute."


@dataclass(frozen=True)
class SweepRecorder:
    """Writes the steps of sweeps; `runs` submits their runs, for their owners as `access` knows."""

    settings: Callable[[], Settings]
    access: Access
    runs: TrainingService
    format_command: FormatCommand

    def submit(self, session: Session, sweep: Sweep, number: int, now: datetime) -> None:
        """Submits the run of a cell for the sweep's owner, by their rights of today.

        What passes by itself is the sweep's obstacle; anything else stops the sweep.
        """
        obstacle = self._obstacle(session, sweep, cell_name(sweep.name, number))
        if obstacle:
            _hinder(session, sweep, f"{obstacle} {AGAIN}")
            return
        asked = asked_runs(sweep)
        wanted, lost = run_of(sweep, asked, number), _lost(session, asked.spec)
        if lost is not None:
            said = f"Run {lost.reference}, which its runs wait for, {lost.ended}."
            _stop(session, sweep, said, "", now)
            return
        owner = name_of(session, sweep.workspace_id, sweep.person)
        try:
            caller = self.access.member(session, sweep.person, sweep.channel, sweep.team)
            self.access.require(caller, Right.RUN_SUBMIT)
        except UnknownPersonError:
            _hinder(session, sweep, f"Whether {owner} may submit runs is being checked. {AGAIN}")
            return
        except UserError:
            said = f"{owner} may no longer submit runs of {sweep.team}."
            _stop(session, sweep, said, "A member of the team can submit the rest.", now)
            return
        self._begin(session, sweep, caller, wanted, now)

    def _begin(
        self, session: Session, sweep: Sweep, caller: Caller, wanted: AskedRun, now: datetime
    ) -> None:
        """Submits a run; if it is refused, what was written for it until then is taken back."""
        approved = [msgspec.convert(each, ExcessCost) for each in sweep.approved]
        unread = self.runs.unread_cluster(wanted)
        try:
            with savepoint(session):
                self.runs.begin(session, caller, wanted, now, approved)
        except UserError as error:
            if unread:
                _hinder(session, sweep, f"Cluster {unread} has not been read yet. {AGAIN}")
                return
            said = error.message
            if approved and isinstance(error, CostlyRunError):
                said = changed_words(approved, error.asked.costs)
            _stop(session, sweep, f"{wanted.name} was refused: {said}", error.hint, now)
        else:
            sweep.obstacle = sweep.trouble = ""
            _note(session, sweep, now)

    def stop_early(self, session: Session, sweep: Sweep, stop: EarlyStop, now: datetime) -> None:
        """Stops the run of a cell, as a person would stop it."""
        self.runs.stop_run(session, finding.get(session, stop.run_id), stop.why(sweep), now)
        sweep.early_stops = {**sweep.early_stops, stop.run_id: stop.row}
        _note(session, sweep, now)

    def note_unjudged(self, session: Session, sweep: Sweep, runs: Sequence[str]) -> None:
        """Notes which running cells the rule cannot judge."""
        if sweep.unjudged != [*runs]:
            sweep.unjudged = [*runs]
            session.add(sweep)
            refresh_cards(session, sweep.subject, live=sweep.is_live)

    def end(
        self,
        session: Session,
        sweep: Sweep,
        cells: Sequence[Cell],
        phase: SweepPhase,
        now: datetime,
    ) -> None:
        """Ends a sweep, and notifies its owner of its best cell."""
        sweep.phase, sweep.since, sweep.ended_at = phase, now, now
        sweep.obstacle = sweep.trouble = ""
        session.add(sweep)
        refresh_cards(session, sweep.subject, live=False)
        notices.ended(session, sweep, cells, self.format_command, now)

    def _obstacle(self, session: Session, sweep: Sweep, name: str) -> str:
        """Why a run of that name has to wait to be submitted, as a sentence."""
        team = self.settings().teams.get(sweep.team)
        there = present(session, sweep.team, name)
        if there.is_live:
            return f"{name} cannot be submitted while another run of that name is live."
        if team is not None and there.live_runs >= team.limits.live_runs:
            most = team.limits.live_runs
            return f"{sweep.team} has {there.live_runs} live runs; its limit is {most}."
        return ""


def _lost(session: Session, spec: RunSpec) -> Awaited | None:
    """A run that its runs wait for and that has not ended as it had to."""
    found = awaited_of(session, spec.after)
    return next((each for each in found if not each.is_live and not each.is_met), None)


def _hinder(session: Session, sweep: Sweep, obstacle: str) -> None:
    if sweep.obstacle != obstacle:
        sweep.obstacle = obstacle
        session.add(sweep)
        refresh_cards(session, sweep.subject, live=True)


def _stop(session: Session, sweep: Sweep, reason: str, unblock: str, now: datetime) -> None:
    """Has it submit no more; its live runs go on."""
    sweep.phase, sweep.since = SweepPhase.STOPPING, now
    sweep.reason, sweep.unblock, sweep.obstacle, sweep.trouble = reason, unblock, "", ""
    actor = Actor(sweep.workspace_id, None, None, sweep.team)
    facts = {"name": sweep.name, "why": reason}
    record(session, actor, "sweep.stop", (SWEEP, sweep.id), facts, at=now)
    _note(session, sweep, now)


def _note(session: Session, sweep: Sweep, now: datetime) -> None:
    session.add(sweep)
    refresh_cards(session, sweep.subject, live=True)
    wake(session, SWEEP, sweep.id, SWEEP, now)
