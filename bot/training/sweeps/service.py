"""The operations on sweeps: checks requests and writes rows, without calls to clusters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, select
from sqlmodel import Session, col

from bot.audit import Actor, record
from bot.config import Settings
from bot.database.prepared import Prepared
from bot.errors import ConflictError, NotAllowedError, NotFoundError
from bot.people.access import Caller, Right
from bot.reconcile.due import wake
from bot.slack.grammar.parameters import Reference, short_name
from bot.slack.markup import FormatCommand
from bot.slack.messages import refresh_cards, show_card
from bot.training import finding
from bot.training.placing.limits import CostlyRun, CostlyRunError, ExcessCost
from bot.training.service import TrainingService
from bot.training.submission.building import Submission
from bot.training.submission.new_run import (
    AskedRun,
    NameTakenError,
    Submitted,
    present,
    refuse_live,
)
from bot.training.submission.outlook import Outlook
from bot.training.submission.sweep_terms import SweepTerms
from bot.training.sweeps.asking import (
    SweepOutlook,
    as_cell,
    outlook_of,
    refuse_many_cells,
    refuse_unfit,
    terms_of,
)
from bot.training.sweeps.cells import Cell, cell_name, cells_of, ranked
from bot.training.sweeps.grid import count_of
from bot.training.sweeps.making import costly_sweep, priced, row_of, run_of
from bot.training.sweeps.tables import Sweep, SweepPhase
from bot.training.tables import SWEEP, Run
from bot.training.templates.candidates import to_rows

_LIVE = Prepared(
    select(col(Sweep.id)).where(
        col(Sweep.team) == bindparam("team"),
        col(Sweep.name) == bindparam("name"),
        col(Sweep.ended_at).is_(None),
    )
)


@dataclass(frozen=True)
class SubmittedSweep:
    """A submitted sweep, with its first run and what it comes to."""

    sweep: Sweep
    first: Submitted
    outlook: SweepOutlook


@dataclass(frozen=True)
class StoppedSweep:
    """A sweep that was stopped: how many runs stop with it, and those that go on."""

    sweep: Sweep
    stopping: int
    left: tuple[str, ...]


class SweepService:
    """The operations that handlers call; each writes in the transaction of the caller.

    Its runs are submitted and stopped by `runs`. `format_command` formats a command.
    """

    def __init__(
        self,
        settings: Callable[[], Settings],
        runs: TrainingService,
        format_command: FormatCommand,
    ) -> None:
        self._settings = settings
        self._runs = runs
        self._format_command = format_command

    def submit(
        self, session: Session, caller: Caller, asked: Submission, now: datetime
    ) -> SubmittedSweep:
        """Submits a sweep with its first run; UserError if it is not valid.

        CostlyRunError if its runs together cost more than the caller may spend.
        """
        terms = self._checked(session, caller, asked)
        wanted = self._runs.asked(session, caller, asked)
        return self._begin(session, caller, wanted, terms, now)

    def submit_approved(
        self, session: Session, caller: Caller, asked: CostlyRun, terms: SweepTerms, now: datetime
    ) -> SubmittedSweep:
        """Submits a sweep whose costs were approved; CostlyRunError if these differ now."""
        team = caller.team or ""
        refuse_many_cells(terms.parameters, team, self._settings().teams[team].limits.sweep_cells)
        self._refuse_names(session, team, asked.name, terms.cells)
        return self._begin(session, caller, asked.asked, terms, now, asked.costs)

    def foresee(
        self, session: Session, caller: Caller, asked: Submission
    ) -> tuple[SweepOutlook, Outlook]:
        """What the sweep comes to, and what would happen to its first run; UserError if invalid."""
        terms = self._checked(session, caller, asked)
        outlook = self._runs.foresee(session, caller, as_cell(asked, 1))
        return outlook_of(terms, outlook.spec, outlook.on, outlook.currency), outlook

    def refuse_name(self, session: Session, team: str, name: str) -> None:
        """NameTakenError while a sweep of that name has not ended: a run cannot have it, too."""
        if _LIVE(session, {"team": team, "name": name}).rows:
            raise NameTakenError(
                f"Sweep {name} has not ended, and live runs and sweeps of a team must have"
                " different names.",
                self._format_command(f"train stop {name}"),
            )

    def find(self, session: Session, team: str, reference: Reference) -> Sweep | None:
        """The newest sweep of that name; None if there is none, or a run had the name since."""
        if reference.number is not None:
            return None
        name = short_name(reference.name)
        sweep = session.scalars(
            select(Sweep)
            .where(col(Sweep.team) == team, col(Sweep.name) == name)
            .order_by(col(Sweep.id).desc())
            .limit(1)
        ).first()
        run = finding.newest(session, team, name) if sweep is not None else None
        is_newer = sweep is not None and run is not None and run.asked_at > sweep.asked_at
        return None if is_newer else sweep

    def get(self, session: Session, sweep_id: str) -> Sweep:
        """The sweep of a button; NotFoundError when it no longer exists."""
        sweep = session.get(Sweep, sweep_id)
        if sweep is None:
            raise NotFoundError("This sweep no longer exists.", "Submit it again.")
        return sweep

    def cells(self, session: Session, sweep: Sweep) -> tuple[Cell, ...]:
        """All cells of a sweep, in the order of their numbers."""
        return cells_of(session, sweep)

    def runs(self, session: Session, sweep: Sweep) -> list[Run]:
        """The newest run of each cell, best first."""
        found = (each.run for each in ranked(sweep, cells_of(session, sweep)))
        return [run for run in found if run is not None]

    def refuse_stop(self, caller: Caller, sweep: Sweep) -> None:
        """Raises an error unless the caller can stop the sweep: their own, or any for leads.

        Raises:
            NotAllowedError: it is of somebody else.
            ConflictError: it has ended.
        """
        if sweep.person != caller.person and not caller.may(Right.RUN_STOP_ANY):
            raise NotAllowedError(
                f"Sweep {sweep.name} belongs to <@{sweep.person}>.",
                "They can stop it, and so can a lead of the team or an admin.",
            )
        if not sweep.is_live:
            raise ConflictError(f"Sweep {sweep.name} has ended.", "There is nothing to stop.")

    def stop(self, session: Session, caller: Caller, sweep: Sweep, now: datetime) -> StoppedSweep:
        """Stops the live runs of a sweep that the caller may stop; it submits no more."""
        self.refuse_stop(caller, sweep)
        live = [each.run for each in cells_of(session, sweep) if each.run and each.run.is_live]
        own = [run for run in live if _may_stop(caller, run)]
        for run in own:
            self._runs.stop(session, caller, run, now, f"Its sweep {sweep.name} was stopped.")
        if sweep.stop_at is None:
            sweep.phase, sweep.stop_by, sweep.stop_at = SweepPhase.STOPPING, caller.person, now
            sweep.since = now
            session.add(sweep)
            actor = Actor(caller.workspace_id, caller.person, caller.channel, sweep.team)
            facts = {"name": sweep.name, "live": str(len(own))}
            record(session, actor, "sweep.stop", (SWEEP, sweep.id), facts, at=now)
            refresh_cards(session, sweep.subject, live=True)
        wake(session, SWEEP, sweep.id, SWEEP, now)
        left = tuple(run.reference for run in live if run not in own)
        return StoppedSweep(sweep, len(own), left)

    def _begin(
        self,
        session: Session,
        caller: Caller,
        wanted: AskedRun,
        terms: SweepTerms,
        now: datetime,
        approved: Sequence[ExcessCost] = (),
    ) -> SubmittedSweep:
        """Writes the sweep and its first run, whose spec has placeholders."""
        sweep = row_of(caller, wanted, terms, approved, now)
        try:
            first = self._runs.begin(session, caller, run_of(sweep, wanted, 1), now, approved)
        except CostlyRunError as costly:
            raise CostlyRunError(costly_sweep(costly.asked, wanted, terms)) from None
        sweep.places = to_rows(priced(wanted.places, first.on))
        session.add(sweep)
        session.flush()
        facts = {"name": sweep.name, "cells": str(terms.cells), "at_most": str(terms.at_most or ""),
                 "stop_early": terms.stop_early,
                 "on": " ".join(each.template for each in wanted.places)}  # fmt: skip
        actor = Actor(caller.workspace_id, caller.person, caller.channel, caller.team)
        told = {name: text for name, text in facts.items() if text}
        record(session, actor, "sweep.submit", (SWEEP, sweep.id), told, at=now)
        show_card(session, sweep.subject, caller.channel, now, live=True, owner=caller.person)
        wake(session, SWEEP, sweep.id, SWEEP, now)
        currency = self._settings().training.prices.currency
        return SubmittedSweep(sweep, first, outlook_of(terms, first.spec, first.on, currency))

    def _checked(self, session: Session, caller: Caller, asked: Submission) -> SweepTerms:
        """Its terms; UserError if its parameters, size or names do not fit."""
        team_name, settings = caller.team or "", self._settings()
        refuse_unfit(asked, team_name, settings.teams[team_name].limits.sweep_cells)
        self._refuse_names(session, team_name, asked.name, count_of(asked.sweep))
        return terms_of(asked, settings)

    def _refuse_names(self, session: Session, team: str, name: str, cells: int) -> None:
        """ConflictError if the name of the sweep, or of one of its runs, is in use."""
        self.refuse_name(session, team, name)
        refuse_live(name, present(session, team, name), self._format_command)
        self._refuse_taken(session, team, [cell_name(name, each + 1) for each in range(cells)])

    def _refuse_taken(self, session: Session, team: str, names: Sequence[str]) -> None:
        """ConflictError if a live run or sweep has the name of a cell."""
        live = select(col(Run.name)).where(col(Run.team) == team, col(Run.ended_at).is_(None))
        runs = session.scalars(live.where(col(Run.name).in_(names)).limit(1)).first()
        taken = runs or _live_of(session, team, names)
        if taken is not None:
            raise ConflictError(
                f"{taken} has not ended, and a run of the sweep would have its name.",
                f"Wait until it ends, stop it with `{self._format_command(f'train stop {taken}')}`,"
                " or choose another name for the sweep.",
            )


def _live_of(session: Session, team: str, names: Sequence[str]) -> str | None:
    """The first of these names that a live sweep of the team has."""
    live = select(col(Sweep.name)).where(col(Sweep.team) == team, col(Sweep.name).in_(names))
    return session.scalars(live.where(col(Sweep.ended_at).is_(None)).limit(1)).first()


def _may_stop(caller: Caller, run: Run) -> bool:
    return run.person == caller.person or caller.may(Right.RUN_STOP_ANY)
