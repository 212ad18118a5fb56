"""What a handler is given: who asks, where, and the services that answer."""

import shlex
from dataclasses import dataclass
from datetime import datetime

from bot.approvals import Approvals
from bot.config import Settings, Team
from bot.database.database import Session
from bot.datasets.parts import DatasetsArea
from bot.gpus.parts import GpusArea
from bot.people.access import Caller, Right
from bot.quotas.service import QuotaService
from bot.services import Services
from bot.slack.grammar.spelling import Spelling
from bot.snapshots.parts import SnapshotsArea
from bot.training.parts import TrainingArea
from bot.volumes.parts import VolumesArea


@dataclass(frozen=True)
class Context:
    """One request: everything it writes goes through `session` and is committed as a whole.

    `said` are the words of its command, none of a click.
    """

    session: Session
    caller: Caller
    now: datetime
    spelling: Spelling
    services: Services
    said: tuple[str, ...] = ()

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.services.settings()

    @property
    def training(self) -> TrainingArea:
        """Training runs and sessions."""
        return self.services.training

    @property
    def gpus(self) -> GpusArea:
        """GPU usage and its digests."""
        return self.services.gpus

    @property
    def quotas(self) -> QuotaService:
        """GPU quota."""
        return self.services.quotas.service

    @property
    def datasets(self) -> DatasetsArea:
        """Datasets, their caches and pushes."""
        return self.services.datasets

    @property
    def snapshots(self) -> SnapshotsArea:
        """Snapshots of PVCs, their schedules, restores and reverts."""
        return self.services.snapshots

    @property
    def volumes(self) -> VolumesArea:
        """Volumes of Azure NetApp Files."""
        return self.services.volumes

    @property
    def approvals(self) -> Approvals:
        """Approval requests and their votes."""
        return self.services.approvals

    def require(self, right: Right) -> None:
        """Nothing when the person has the right here; NotAllowedError otherwise."""
        self.services.access.require(self.caller, right)

    def team(self, cluster: str | None = None) -> tuple[str, Team]:
        """The team the person acts for, in the named cluster or in its default one."""
        return self.services.access.require_team(self.caller, cluster)

    def format_command(self, text: str) -> str:
        """How a command is typed here: `train list` as `/train list` or `@Quartermaster ...`."""
        return self.spelling.of(text)

    def again(self, *more: str) -> str:
        """How the same command is typed here, its options included, with `more` behind it."""
        return self.format_command(shlex.join((*self.said, *more)))
