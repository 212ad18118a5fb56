"""The table of requests to submit runs that cost more than their owners may spend."""

import hashlib
import json
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

import msgspec
from sqlalchemy import JSON, Index, text
from sqlmodel import Field, SQLModel

from bot.database.columns import Moment, new_id
from bot.slack.messages import Subject
from bot.training.placing.limits import CostlyRun, ExcessCost
from bot.training.submission.sweep_terms import terms_from
from bot.training.templates.candidates import Candidate

RUN_REQUEST = "run-request"


class RequestPhase(StrEnum):
    """The phase of a request; all but ASKED are ends."""

    ASKED = "asked"
    SUBMITTED = "submitted"
    REFUSED = "refused"
    DENIED = "denied"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


class RunRequest(SQLModel, table=True):
    """A run that is submitted once its cost is approved.

    The first block is written once: `places` are where the run may wait, with its spec there
    (`templates.candidates`), `costs` are those above the limits of their templates, as the
    approvers see them, and `sweep` the terms of a sweep of such runs. `withdrawn_by` is written by
    services, the rest by the controller: `run_id` is the run that it became, or the first of the
    sweep, `reason` why it was refused, `unblock` what to do about that, and `obstacle` what delays
    it.

    The name of the run stays free: it is checked when the run is submitted. A team has one
    undecided request for a name.
    """

    __tablename__: ClassVar[Any] = "run_requests"
    __table_args__ = (
        Index(
            "ix_run_requests_live",
            "team",
            "name",
            unique=True,
            postgresql_where=text("ended_at IS NULL"),
            sqlite_where=text("ended_at IS NULL"),
        ),
    )

    id: str = Field(default_factory=new_id, primary_key=True)
    workspace_id: str
    team: str
    name: str
    person: str
    channel: str
    places: list[dict[str, Any]] = Field(sa_type=JSON)
    costs: list[dict[str, Any]] = Field(sa_type=JSON)
    sweep: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    asked_at: datetime = Field(sa_type=Moment)

    withdrawn_by: str | None = None

    phase: str = RequestPhase.ASKED
    since: datetime = Field(sa_type=Moment)
    run_id: str | None = None
    reason: str = ""
    unblock: str = ""
    obstacle: str = ""
    trouble: str = ""
    ended_at: datetime | None = Field(default=None, sa_type=Moment)

    @property
    def is_live(self) -> bool:
        """Whether it waits for a decision."""
        return self.ended_at is None

    @property
    def is_cleared(self) -> bool:
        """Whether nothing is left to do."""
        return not self.is_live

    @property
    def subject(self) -> Subject:
        """What its messages are about."""
        return Subject(self.workspace_id, RUN_REQUEST, self.id)

    @property
    def what(self) -> str:
        """What is submitted: a run or a sweep."""
        return "sweep" if self.sweep else "run"

    @property
    def digest(self) -> str:
        """A digest of what approvers are shown, and of all that is submitted."""
        shown: list[object] = [self.team, self.name, self.person, self.places, self.costs]
        shown += [self.sweep] if self.sweep else []
        return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()


def asked_run(row: RunRequest) -> CostlyRun:
    """The run of a request."""
    places = tuple(msgspec.convert(each, Candidate) for each in row.places)
    costs = tuple(msgspec.convert(each, ExcessCost) for each in row.costs)
    return CostlyRun(row.name, places, costs, terms_from(row.sweep))
