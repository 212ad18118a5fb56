"""Records what was pushed as a version, by a survey like any other."""

from collections.abc import Callable
from datetime import datetime

from sqlmodel import Session

from bot.access import Caller, ChannelPlace
from bot.config import Settings
from bot.datasets import finding
from bot.datasets.pushes.lineage import Makers, note_origin
from bot.datasets.service import DatasetService, NewDataset
from bot.datasets.tables import Push
from bot.errors import UserError


class Versions:
    """Records versions of pushed folders."""

    def __init__(
        self, settings: Callable[[], Settings], words: Callable[[str], str], makers: Makers
    ) -> None:
        self._datasets = DatasetService(settings, words)
        self._makers = makers

    def record(self, session: Session, push: Push, now: datetime) -> None:
        """Starts the survey of a new version; if it cannot, writes the reason to the push."""
        if not push.dataset:
            return
        caller = Caller(
            workspace_id=push.workspace_id,
            person=push.person,
            channel=push.channel,
            place=ChannelPlace.TEAM,
            team=push.team,
            roles=frozenset(),
        )
        try:
            dataset = finding.present(session, push.dataset)
            if dataset is None:
                asked = NewDataset(push.dataset, push.target, push.store)
                dataset = self._datasets.add(session, caller, asked, now)
            if (dataset.source, dataset.store) != (push.target, push.store):
                push.unrecorded = f"The source of {dataset.name} is now {dataset.source}."
                return
            what = (dataset, push.version, push.note)
            version = self._datasets.version(session, caller, what, now)
            push.version_id = version.id
            note_origin(session, push, version, self._makers)
        except UserError as error:
            push.unrecorded = f"{error.message} {error.hint}".rstrip()
