"""Who may see the content of files: checks, and the line of the audit; reads nothing outside."""

from collections.abc import Callable
from datetime import datetime

from sqlmodel import Session

from bot.audit import Actor, record
from bot.config import Settings
from bot.datasets import bounds
from bot.datasets.tables import VERSION, Version
from bot.errors import NotAllowedError
from bot.people.access import Caller


class BrowseService:
    """Allows people to see files of versions that their team may use."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self._settings = settings

    def shows_content(self) -> bool:
        """Whether this installation shows the content of files."""
        datasets = self._settings().datasets
        return datasets is not None and datasets.show_content

    def show(
        self, session: Session, caller: Caller, version: Version, path: str, now: datetime
    ) -> None:
        """Records that the caller is shown a file; NotAllowedError if content is not shown."""
        if not self.shows_content():
            raise NotAllowedError(
                "The content of files is not shown in Slack.",
                "A platform admin can allow it: `datasets: {show_content: true}`.",
            )
        bounds.insist(bounds.of_version(session, self._settings(), version))
        actor = Actor(caller.workspace_id, caller.person, caller.channel, caller.team)
        facts = {"name": version.reference, "path": path}
        record(session, actor, "dataset.head", (VERSION, version.id), facts, at=now)
