"""What handlers and jobs call: the services of every area."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bot.approvals import Approvals
from bot.areas import Area
from bot.config import Settings
from bot.datasets.parts import DatasetsArea
from bot.gpus.parts import GpusArea
from bot.leftovers.parts import LeftoversArea
from bot.people.access import Access
from bot.quotas.parts import QuotasArea
from bot.snapshots.parts import SnapshotsArea
from bot.status.service import StatusService
from bot.teams.parts import TeamsArea
from bot.training.parts import TrainingArea
from bot.volumes.parts import VolumesArea


@dataclass(frozen=True)
class Services:
    """The same for every request and every job."""

    settings: Callable[[], Settings]
    access: Access
    approvals: Approvals
    volumes: VolumesArea
    datasets: DatasetsArea
    snapshots: SnapshotsArea
    training: TrainingArea
    quotas: QuotasArea
    gpus: GpusArea
    teams: TeamsArea
    leftovers: LeftoversArea
    status: StatusService

    @property
    def areas(self) -> Sequence[Area]:
        """All areas, each after those it uses."""
        return (
            self.volumes,
            self.datasets,
            self.snapshots,
            self.training,
            self.quotas,
            self.gpus,
            self.teams,
            self.leftovers,
        )
