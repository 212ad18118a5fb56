"""The composition root: it builds what the areas share, and connects what they bring."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version as installed_version
from pathlib import Path

from bot import DISTRIBUTION
from bot.approvals import ApprovalController, Approvals
from bot.approvals.context import ReadAnew
from bot.approvals.gauges import GAUGES as APPROVAL_GAUGES
from bot.areas import Area, Foundations
from bot.clock import Clock
from bot.cluster.api.following import Following
from bot.cluster.cluster import Cluster
from bot.commands.dispatcher import CommandDispatcher
from bot.config import ConfigurationFile, Settings, TeamRows
from bot.current import CurrentSettings
from bot.database import schema
from bot.database.database import Database
from bot.datasets.parts import DatasetsArea
from bot.datasets.team_uses import team_uses as uses_of_datasets
from bot.gauges import GaugeSource
from bot.gpus.parts import GpusArea
from bot.home.source import HomeSource
from bot.leftovers.parts import LeftoversArea
from bot.people.access import Access
from bot.quotas.engines.opening import follow
from bot.quotas.engines.registry import Engines
from bot.quotas.parts import QuotasArea
from bot.quotas.team_uses import team_uses as uses_of_quotas
from bot.reconcile.controller import Controller
from bot.reconcile.wakeups import WatchHandler
from bot.services import Services
from bot.slack.grammar.registry import Registry
from bot.slack.messages import Renderer
from bot.slack.sending.gauges import GAUGES as MESSAGE_GAUGES
from bot.snapshots.parts import SnapshotsArea
from bot.snapshots.team_uses import team_uses as uses_of_snapshots
from bot.status.service import StatusService
from bot.teams.parts import TeamsArea
from bot.teams.record import teams_of_slack
from bot.teams.tables import TOPIC as TEAMS
from bot.teams.uses import TeamUses
from bot.training.kinds import WORKLOADS
from bot.training.parts import TrainingArea
from bot.training.records.makers import makers_of
from bot.training.records.mounting import runs_needing
from bot.training.stopping import RunStopping
from bot.training.team_uses import team_uses as uses_of_training
from bot.volumes.parts import VolumesArea
from bot.volumes.team_uses import team_uses as uses_of_volumes
from handlers.declared import COMMANDS
from handlers.options import OPTIONS
from handlers.shortcuts import SHORTCUTS
from handlers.steps import STEPS
from handlers.threads import OBJECTS
from jobs.declared import JOBS
from jobs.timetable import Timetable

_SYNC_SECONDS = 5.0
_LOOK_SECONDS = 0.05
_USES: Sequence[TeamUses] = (
    uses_of_training,
    uses_of_datasets,
    uses_of_snapshots,
    uses_of_quotas,
    uses_of_volumes,
)


def version() -> str:
    """The installed version."""
    return installed_version(DISTRIBUTION)


def commands(prefix: str = "") -> Registry:
    """Every declared command, under the names that `prefix` gives them: qm for /qm-train."""
    lead = f"{prefix.rstrip('-')}-" if prefix else ""
    return Registry(COMMANDS, prefix=lead, shortcuts=SHORTCUTS, steps=STEPS)


def migrate(path: Path) -> bool:
    """Brings the schema of the configured database up to date; False if it is a newer one."""
    return schema.upgrade(ConfigurationFile(path).load().database.url)


@contextmanager
def open_application(path: Path) -> Iterator["Application"]:
    """An application that sees the clusters, for commands beside a running server."""
    file = ConfigurationFile(path)
    settings = file.load()
    application = Application(CurrentSettings(file, settings), follow(settings))
    try:
        application.start_watching()
        application.wait_for_views()
        yield application
    finally:
        application.close()


class Application:
    """The parts of the bot that decide; it has no threads of its own and never calls Slack."""

    def __init__(
        self,
        settings: CurrentSettings,
        followed: Mapping[str, Following],
        clock: Clock | None = None,
    ) -> None:
        now = settings()
        self.settings = settings
        self.clock = clock or Clock()
        self.database = Database(now.database.url)
        self.database.read(lambda session: schema.refuse_misfit(session, version()))
        self.registry = commands(now.slack.command_prefix)
        self._on = self._foundations(followed)
        settings.add_teams(self._slack_teams)
        self.database.on_commit(self._heard)
        self.clusters = self._on.clusters
        self.services = _services(self._on, settings.in_file)
        self.areas: Sequence[Area] = self.services.areas
        self.dispatcher = CommandDispatcher(
            self.database, self.clock, self.registry, self.services, OBJECTS, OPTIONS
        )
        jobs = [job.scheduled(self.services) for job in JOBS]
        own = [each for area in self.areas for each in area.own_schedules()]
        self.timetable = Timetable(self.database, self.clock, jobs, own)

    def controllers(self, read_anew: ReadAnew) -> Sequence[Controller]:
        """The controllers; `read_anew` asks Slack about approvers before an approval counts."""
        deciding = self._on.deciding(read_anew)
        approvals = self._on.approvals
        return (
            ApprovalController(self.database, self.clock, self.settings, approvals),
            *(each for area in self.areas for each in area.controllers(deciding)),
        )

    def renderers(self) -> Mapping[str, Renderer]:
        """What renders the cards of each kind of subject."""
        return {each.kind: each for area in self.areas for each in area.renderers()}

    def home(self) -> HomeSource:
        """What makes people's Home tabs."""
        return HomeSource(self.services, self.renderers(), self.database, self.clock, self.registry)

    def watch_handlers(self) -> Sequence[WatchHandler]:
        """The watch handlers: each returns the rows that a changed object concerns."""
        return [each for area in self.areas for each in area.watch_handlers()]

    def gauges(self) -> Sequence[GaugeSource]:
        """The metrics that are read from rows."""
        areas = (each for area in self.areas for each in area.gauges())
        return (MESSAGE_GAUGES, APPROVAL_GAUGES, *areas)

    def start_watching(self) -> None:
        """Begins to watch the clusters; returns at once."""
        for cluster in self.clusters.values():
            cluster.start()

    def wait_for_views(self) -> None:
        """Returns once every cluster was read, or after a short time-out."""
        waiting = threading.Event()
        for _ in range(round(_SYNC_SECONDS / _LOOK_SECONDS)):
            if all(cluster.view.synced for cluster in self.clusters.values()):
                return
            waiting.wait(_LOOK_SECONDS)

    def close(self) -> None:
        """Ends the watches and gives the database back."""
        for cluster in self.clusters.values():
            cluster.stop()
        for area in self.areas:
            area.close()
        self.database.close()

    def _slack_teams(self) -> TeamRows:
        workspace = self.settings.in_file().workspace
        return self.database.read(lambda session: teams_of_slack(session, workspace))

    def _heard(self, topics: frozenset[str]) -> None:
        if TEAMS in topics:
            self.settings.look_now()

    def _foundations(self, followed: Mapping[str, Following]) -> Foundations:
        installation = self.database.transaction(schema.installation)
        access = Access(self.settings)
        return Foundations(
            settings=self.settings,
            database=self.database,
            clock=self.clock,
            clusters={
                name: Cluster.of(each, installation, WORKLOADS) for name, each in followed.items()
            },
            installation=installation,
            format_command=self.registry.slash.of,
            access=access,
            approvals=Approvals(self.settings, access),
        )


def _services(on: Foundations, in_file: Callable[[], Settings]) -> Services:
    """The areas, each built on those it uses; what points back is handed over as a function."""
    engines = Engines(on.settings, on.clusters)
    volumes = VolumesArea(on)
    datasets = DatasetsArea(on, volumes.files, makers_of)
    snapshots = SnapshotsArea(on, volumes.reads, runs_needing)
    training = TrainingArea(on, engines, snapshots.of_runs, datasets.caches)
    quotas = QuotasArea(on, engines, RunStopping(training.runs))
    return Services(
        settings=on.settings,
        access=on.access,
        approvals=on.approvals,
        volumes=volumes,
        datasets=datasets,
        snapshots=snapshots,
        training=training,
        quotas=quotas,
        gpus=GpusArea(on, engines, training.idling, datasets.usage),
        teams=TeamsArea(on, engines, quotas.service, in_file, _USES),
        leftovers=LeftoversArea(on, datasets, snapshots),
        status=StatusService(on.settings, on.clusters, version()),
    )
