"""The runs of single people: those that live, and those that ended last."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec
from sqlalchemy import Text, bindparam, case, cast, func, select
from sqlmodel import Session, col

from bot.database.columns import moment_of
from bot.database.prepared import Prepared
from bot.training.spec import RunSpec
from bot.training.tables import NOT_ADMITTED, Run, reference

_LOOKED_AT = 20
_TIMES = 13  # so many columns of an ended run come before its times


@dataclass(frozen=True)
class EndedRun:
    """A run that has ended, in a few columns; `spec_json` and `links_json` as they are stored."""

    id: str
    team: str
    name: str
    number: int
    phase: str
    wanted: str
    removing: str | None
    cluster: str
    namespace: str
    job_name: str
    spec_json: str
    links_json: str
    mlflow_url: str
    since: datetime
    started_at: datetime | None
    ended_at: datetime | None

    @property
    def reference(self) -> str:
        """The reference of this run, such as `lane#2`."""
        return reference(self.name, self.number)

    @property
    def spec(self) -> RunSpec:
        """The spec of this run as it was requested."""
        return msgspec.json.decode(self.spec_json, type=RunSpec)

    @property
    def links(self) -> Mapping[str, str]:
        """Addresses that its log named, by label."""
        return msgspec.json.decode(self.links_json, type=dict[str, str])


@dataclass(frozen=True)
class TeamRuns:
    """How many runs of a team live, how many of those wait, and of how many people they are."""

    live: int = 0
    waiting: int = 0
    people: int = 0


# Built once: that takes longer than to run them.
# Not ordered: SQLite would walk through all runs for that, those that have ended included.
_LIVE = select(Run).where(
    col(Run.ended_at).is_(None), col(Run.person).in_(bindparam("people", expanding=True))
)
_OF_TEAMS = (
    select(
        col(Run.team),
        func.count(),
        func.sum(case((col(Run.phase).in_(NOT_ADMITTED), 1), else_=0)),
        func.count(col(Run.person).distinct()),
    )
    .where(col(Run.ended_at).is_(None))
    .group_by(col(Run.team))
)
_ENDED = Prepared(
    select(
        col(Run.id),
        col(Run.team),
        col(Run.name),
        col(Run.number),
        col(Run.phase),
        col(Run.wanted),
        col(Run.removing),
        col(Run.cluster),
        col(Run.namespace),
        col(Run.job_name),
        cast(col(Run.spec), Text),
        cast(col(Run.links), Text),
        col(Run.mlflow_url),
        col(Run.since),
        col(Run.started_at),
        col(Run.ended_at),
    )
    .where(col(Run.person) == bindparam("person"), col(Run.ended_at).is_not(None))
    .order_by(col(Run.ended_at).desc())
    .limit(_LOOKED_AT)
)


class PersonalRunService:
    """Reads runs by person, from all their teams; who may see them is for the caller to decide."""

    def live(self, session: Session, people: Collection[str]) -> dict[str, list[Run]]:
        """The live runs of these people, by person; newest first."""
        rows = session.scalars(_LIVE, {"people": list(people)})
        found: dict[str, list[Run]] = {}
        for run in sorted(rows, key=lambda run: run.id, reverse=True):
            found.setdefault(run.person, []).append(run)
        return found

    def ended(self, session: Session, person: str) -> list[EndedRun]:
        """The runs of a person that ended last; newest first."""
        rows = _ENDED(session, {"person": person}).rows
        return [EndedRun(*row[:_TIMES], *map(moment_of, row[_TIMES:])) for row in rows]

    def of_teams(self, session: Session) -> dict[str, TeamRuns]:
        """How many runs live in each team that has any."""
        rows = session.connection().execute(_OF_TEAMS)
        return {team: TeamRuns(live, waiting, people) for team, live, waiting, people in rows}
