"""Carries out what was decided for a request: submits its run, or ends it."""

from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from bot.approvals import Approvals
from bot.audit import Actor, record
from bot.database.prepared import savepoint
from bot.errors import UserError
from bot.people.access import Access, Caller, Right, UnknownPersonError
from bot.slack.markup import Markup, code, join, person, plain, sentence
from bot.slack.messages import ThreadMessage, post_once, refresh_cards
from bot.training.placing.limits import CostlyRun, CostlyRunError, changed_words
from bot.training.requests.tables import RUN_REQUEST, RequestPhase, RunRequest, asked_run
from bot.training.service import TrainingService
from bot.training.submission.new_run import Submitted
from bot.training.sweeps.service import SweepService
from bot.training.wording import name_of

_ENDS = {
    RequestPhase.DENIED: "was denied",
    RequestPhase.EXPIRED: "was not decided in time",
    RequestPhase.WITHDRAWN: "was withdrawn",
}


class _NotReadError(UserError):
    """A cluster was not read completely yet, so that a refusal may be wrong."""


@dataclass(frozen=True)
class RunRequestRecorder:
    """Submits runs whose costs were approved, for their owners as `access` knows them."""

    access: Access
    approvals: Approvals
    runs: TrainingService
    sweeps: SweepService

    def submit(self, session: Session, row: RunRequest, now: datetime) -> None:
        """Uses the approval and submits the run for its owner, by their rights of today.

        All checks of a submission run again; a refusal ends the request.
        """
        approval = self.approvals.of(session, RUN_REQUEST, row.id)
        try:
            caller = self.access.member(session, row.person, row.channel, row.team)
            self.access.require(caller, Right.RUN_SUBMIT)
        except UnknownPersonError:
            owner = name_of(session, row.workspace_id, row.person)
            self._hinder(session, row, f"Whether {owner} may submit runs is being checked.")
            return
        except UserError:
            owner = name_of(session, row.workspace_id, row.person)
            _refuse(session, row, f"{owner} may no longer submit runs of {row.team}.", "", now)
            return
        try:
            with savepoint(session):
                if approval is not None and self.approvals.use(session, approval, row.digest, now):
                    self._begin(session, row, caller, now)
        except _NotReadError as error:  # the approval is not used up by that
            self._hinder(session, row, error.message)
        refresh_cards(session, row.subject, live=False)

    def _begin(self, session: Session, row: RunRequest, caller: Caller, now: datetime) -> None:
        """Submits the run; if it is refused, what was written for it until then is taken back."""
        asked = asked_run(row)
        unread = self.runs.unread_cluster(asked.asked)
        try:
            with savepoint(session):
                run, made = self._submitted(session, caller, asked, now)
        except UserError as error:
            if unread:
                raise _NotReadError(f"Cluster {unread} has not been read yet.") from error
            _refuse_by(session, row, asked, error, now)
        else:
            row.run_id = run.run_id
            finish(session, row, RequestPhase.SUBMITTED, now, made)

    def _submitted(
        self, session: Session, caller: Caller, asked: CostlyRun, now: datetime
    ) -> tuple[Submitted, str]:
        """Submits the run, or the sweep with its first one; and what was made, by name."""
        if asked.sweep is None:
            self.sweeps.refuse_name(session, caller.team or "", asked.name)
            run = self.runs.begin(session, caller, asked.asked, now, asked.costs)
            return run, run.reference
        made = self.sweeps.submit_approved(session, caller, asked, asked.sweep, now)
        return made.first, made.sweep.name

    def _hinder(self, session: Session, row: RunRequest, obstacle: str) -> None:
        if row.obstacle != obstacle:
            row.obstacle = obstacle
            session.add(row)
            refresh_cards(session, row.subject, live=False)


def finish(
    session: Session, row: RunRequest, phase: RequestPhase, now: datetime, run: str = ""
) -> None:
    """Ends a request, writes the audit line and notifies the requester; `run` was submitted.

    It is a sweep, if that was requested.
    """
    row.phase, row.since, row.ended_at = phase, now, now
    row.obstacle = row.trouble = ""
    session.add(row)
    facts = {"name": run or row.name, "outcome": str(phase)}
    facts |= {"reason": row.reason} if row.reason else {}
    actor = Actor(row.workspace_id, team=row.team)
    record(session, actor, "run.request_ended", (RUN_REQUEST, row.id), facts, at=now)
    lines = (_ended(row, run), *([sentence(row.unblock)] if row.unblock else ()))
    told = (join(person(row.person), " ", lines[0]), *lines[1:])
    note = ThreadMessage("ended", told, owner=row.person)
    post_once(session, row.subject, row.channel, note, now)
    refresh_cards(session, row.subject, live=False)


def _refuse_by(
    session: Session, row: RunRequest, asked: CostlyRun, error: UserError, now: datetime
) -> None:
    if isinstance(error, CostlyRunError):
        reason = f"{changed_words(asked.costs, error.asked.costs)} Nothing was submitted."
        _refuse(session, row, reason, f"Submit the {row.what} again, which requests that.", now)
    else:
        _refuse(session, row, error.message, error.hint, now)


def _refuse(session: Session, row: RunRequest, reason: str, unblock: str, now: datetime) -> None:
    row.reason, row.unblock = reason, unblock
    finish(session, row, RequestPhase.REFUSED, now)


def _ended(row: RunRequest, run: str) -> Markup:
    match RequestPhase(row.phase):
        case RequestPhase.SUBMITTED:
            return join("The cost of ", code(run), " was approved, and it is submitted."
                        " Its own card follows it.")  # fmt: skip
        case RequestPhase.REFUSED:
            return join(code(row.name), " was not submitted. ", sentence(row.reason))
        case phase:
            said = plain(f" {_ENDS[phase]}. Nothing was submitted.")
            return join("The request to submit ", code(row.name), said)
