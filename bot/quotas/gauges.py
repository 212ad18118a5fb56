"""Metrics of quota overrides: how many are in force, and whether one is past its end."""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlmodel import Session, col

from bot.config import Settings
from bot.gauges import GaugeSource, GaugeSpec, Reading
from bot.quotas.engines.engine import Engine
from bot.quotas.tables import Override, OverridePhase

_ACTIVE = GaugeSpec(
    "quartermaster_quota_overrides_active",
    "Overrides that are approved and not undone yet",
    ("cluster", "team"),
)
_OVERDUE = GaugeSpec(
    "quartermaster_quota_override_overdue_seconds",
    "Time for which a quota has been changed past the end of an override; 0 if none is",
    ("cluster", "team"),
)
_IN_FORCE = (OverridePhase.APPROVED, OverridePhase.ACTIVE, OverridePhase.ENDING)
_NO_TEAM = ""

Place = tuple[str, str]


def override_gauges(
    settings: Callable[[], Settings], engine: Callable[[str], Engine | None]
) -> GaugeSource:
    """The metrics of overrides, from their rows and from the annotations of queues.

    A queue can be annotated past the end of its overrides although their rows are lost.
    """

    def read(session: Session, now: datetime) -> Iterator[Reading]:
        active: Counter[Place] = Counter()
        overdue: dict[Place, timedelta] = {}
        for row in session.scalars(select(Override).where(col(Override.phase).in_(_IN_FORCE))):
            place = (row.cluster, row.team)
            active[place] += 1
            _note(overdue, place, row.revoked_at or row.ends_at, now)
        for cluster in settings().clusters:
            _note_annotations(session, overdue, engine(cluster), now)
        places = {(at, name) for name, team in settings().teams.items() for at in team.reach}
        for place in sorted({*places, *active, *overdue}):
            if place[1] != _NO_TEAM:
                yield _ACTIVE.at(active[place], *place)
            yield _OVERDUE.at(overdue.get(place, timedelta()), *place)

    return GaugeSource((_ACTIVE, _OVERDUE), read)


def _note_annotations(
    session: Session, overdue: dict[Place, timedelta], engine: Engine | None, now: datetime
) -> None:
    """Adds what queues in the view say; the team is empty if the override is unknown."""
    for _, note in engine.overrides.notes() if engine is not None else ():
        known = (session.get(Override, each) for each in note.ids)
        team = next((each.team for each in known if each is not None), _NO_TEAM)
        if engine is not None:
            _note(overdue, (engine.cluster, team), datetime.fromisoformat(note.until), now)


def _note(
    overdue: dict[Place, timedelta], place: Place, end: datetime | None, now: datetime
) -> None:
    if end is not None and now > end:
        overdue[place] = max(now - end, overdue.get(place, timedelta()))
