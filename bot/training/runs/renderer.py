"""Renders the cards of runs, and of removals of external workloads."""

from sqlmodel import Session

from bot.clock import Clock
from bot.slack.card import Card
from bot.training.records.lineage import lineage_of
from bot.training.runs.card import People, removal_card, run_card
from bot.training.tables import KIND, REMOVAL, Removal, Run
from bot.training.wording import name_of


class RunRenderer:
    """Renders runs."""

    kind = KIND

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The run's card; the same in every channel."""
        del channel
        run = session.get(Run, subject_id)
        if run is None:
            return None
        people, lineage = people_of(session, run), lineage_of(session, run)
        return run_card(run, people, self._clock.now(), lineage)


class RemovalRenderer:
    """Renders removals."""

    kind = REMOVAL

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The removal's card; the same in every channel."""
        del channel
        removal = session.get(Removal, subject_id)
        if removal is None:
            return None
        return removal_card(removal, name_of(session, removal.workspace_id, removal.person))


def people_of(session: Session, run: Run) -> People:
    """The names of the people of a run."""
    stopper = name_of(session, run.workspace_id, run.stop_by) if run.stop_at else ""
    return People(name_of(session, run.workspace_id, run.person), stopper)
