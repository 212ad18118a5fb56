"""Begins steps of workflows, and takes what their people answer."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import Session, col, func, select

from bot.config import Settings
from bot.database.forgetting import forget_some
from bot.errors import ConflictError, LimitError, NotAllowedError, NotFoundError, UserError
from bot.people import people
from bot.people.access import Access, Caller, Right, UnknownPersonError
from bot.quotas.overrides.request import OverrideRequest
from bot.quotas.service import QuotaService
from bot.quotas.steps import notices
from bot.quotas.steps.decide import LASTS
from bot.quotas.steps.tables import STEP, QuotaStep, StepPhase
from bot.quotas.tables import Override
from bot.reconcile.due import wake
from bot.slack.grammar.parameters import Amount

LANE = people.LANE
MOST_OF_A_PERSON = 5
_KEPT = timedelta(days=1)


@dataclass(frozen=True)
class StepRequest:
    """What a step asks for: GPUs to add for a team, in a person's name."""

    person: str
    team: str
    channel: str
    gpus: int
    length: timedelta
    reason: str
    gpu_type: str = ""

    @property
    def request(self) -> OverrideRequest:
        """The request that the person would make."""
        amount = Amount(self.gpus, relative=True)
        return OverrideRequest(
            self.team, amount, self.reason, self.length, gpu_type=self.gpu_type or None
        )


class StepService:
    """A workflow's author can name any person, so a step only ever asks that person."""

    def __init__(
        self, settings: Callable[[], Settings], access: Access, quotas: QuotaService
    ) -> None:
        self._settings = settings
        self._access = access
        self._quotas = quotas

    def offer(self, session: Session, execution_id: str, asked: StepRequest, now: datetime) -> None:
        """Asks the person; UserError if they could not request it. Once for each execution."""
        if self._is_known(session, execution_id):
            return
        self._check(session, asked, now)
        row = QuotaStep(
            workspace_id=self._settings().workspace,
            execution_id=execution_id,
            team=asked.team,
            person=asked.person,
            channel=asked.channel,
            gpus=asked.gpus,
            gpu_type=asked.gpu_type,
            seconds=int(asked.length.total_seconds()),
            reason=asked.reason,
            asked_at=now,
        )
        self._add(session, row, now)
        notices.offered(session, row, now)

    def refuse(self, session: Session, execution_id: str, error: UserError, now: datetime) -> None:
        """Has the step fail with this error. Once for each execution."""
        if self._is_known(session, execution_id):
            return
        row = QuotaStep(
            workspace_id=self._settings().workspace,
            execution_id=execution_id,
            asked_at=now,
            phase=StepPhase.REFUSED,
            error=" ".join(filter(None, (error.message, error.hint))),
        )
        self._add(session, row, now)

    def get(self, session: Session, step_id: str) -> QuotaStep:
        """The step of a button; NotFoundError when it no longer exists."""
        row = session.get(QuotaStep, step_id)
        if row is None:
            raise NotFoundError("This workflow ended more than a day ago.", "Start it again.")
        return row

    def request(self, session: Session, caller: Caller, row: QuotaStep, now: datetime) -> Override:
        """Makes the request in the team's channel, as its person may; UserError if not."""
        self._refuse_answered(caller, row, now)
        asker = self._member(session, row.person, row.channel, row.team)
        made = self._quotas.request(session, _asked(row).request, asker, now)
        row.override_id, row.phase = made.id, StepPhase.REQUESTED
        session.add(row)
        wake(session, STEP, row.id, LANE, now)
        return made

    def decline(self, session: Session, caller: Caller, row: QuotaStep, now: datetime) -> None:
        """Has the step fail; nothing is requested."""
        self._refuse_answered(caller, row, now)
        row.phase = StepPhase.REFUSED
        row.error = f"<@{row.person}> declined. Nothing was requested."
        session.add(row)
        wake(session, STEP, row.id, LANE, now)

    def _check(self, session: Session, asked: StepRequest, now: datetime) -> None:
        mine = select(func.count()).where(
            col(QuotaStep.person) == asked.person, col(QuotaStep.phase) == StepPhase.OFFERED
        )
        if session.exec(mine).one() >= MOST_OF_A_PERSON:
            raise LimitError(
                f"<@{asked.person}> has {MOST_OF_A_PERSON} such questions to answer, the maximum.",
                "They can answer them in their direct messages with the bot.",
            )
        try:
            asker = self._member(session, asked.person, asked.channel, asked.team)
        except UnknownPersonError:
            # They are looked up meanwhile; the click is checked in any case.
            people.get_to_know(session, self._settings().workspace, asked.person, now)
            return
        except NotAllowedError:
            # Its words are for the person; the workflow's author reads these.
            raise NotAllowedError(
                f"<@{asked.person}> may not request GPU quota for {asked.team}.",
                "Choose a person of the team.",
            ) from None
        self._quotas.outlook(session, asked.request, asker, now)

    def _member(self, session: Session, person: str, channel: str, team: str) -> Caller:
        caller = self._access.member(session, person, channel, team)
        self._access.require(caller, Right.QUOTA_REQUEST)
        return caller

    def _is_known(self, session: Session, execution_id: str) -> bool:
        found = select(QuotaStep.id).where(col(QuotaStep.execution_id) == execution_id)
        return session.exec(found).first() is not None

    def _add(self, session: Session, row: QuotaStep, now: datetime) -> None:
        session.add(row)
        session.flush()
        wake(session, STEP, row.id, LANE, now)

    def _refuse_answered(self, caller: Caller, row: QuotaStep, now: datetime) -> None:
        if row.person != caller.person:
            raise NotAllowedError(f"<@{row.person}> was asked, and only they can answer.")
        if row.phase != StepPhase.OFFERED or now >= row.asked_at + LASTS:
            raise ConflictError("This question was answered, or its 7 days are over.")


def _asked(row: QuotaStep) -> StepRequest:
    length = timedelta(seconds=row.seconds)
    return StepRequest(
        row.person, row.team, row.channel, row.gpus, length, row.reason, row.gpu_type
    )


def forget(session: Session, now: datetime) -> None:
    """Deletes steps of which Slack learned the end a day ago."""
    forget_some(session, QuotaStep, col(QuotaStep.ended_at) < now - _KEPT)
