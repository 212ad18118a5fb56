"""What the area of datasets brings: its services, controllers, renderers and watch handlers."""

from collections.abc import Sequence

from typing_extensions import override

from bot.approvals.context import ApprovalContext
from bot.areas import Area, Foundations
from bot.datasets.browsing.reads import BrowseReads
from bot.datasets.browsing.service import BrowseService
from bot.datasets.caches.card import CacheRenderer
from bot.datasets.caches.controller import CacheController, cache_changes
from bot.datasets.caches.evictions.controller import SweepController, UseWatchHandler
from bot.datasets.caches.lifecycle.service import KeepingService
from bot.datasets.caches.part_reads import PartReads
from bot.datasets.caches.reads import CacheReads
from bot.datasets.caches.service import CacheService
from bot.datasets.caches.shares.controller import ShareController, share_changes
from bot.datasets.card import VersionRenderer
from bot.datasets.drops.controller import DropController
from bot.datasets.drops.finding import SlackFiles
from bot.datasets.gauges import cache_gauges
from bot.datasets.leftovers.anf import AnfOrphans
from bot.datasets.leftovers.controller import OrphanController
from bot.datasets.leftovers.fsx import FsxOrphans
from bot.datasets.pushes.card import PushRenderer
from bot.datasets.pushes.controller import PushController, push_changes
from bot.datasets.pushes.service import PushService
from bot.datasets.pushes.versions import Makers
from bot.datasets.reads import DatasetReads
from bot.datasets.service import DatasetService
from bot.datasets.usage.service import UsageService
from bot.datasets.versions.controller import VersionController, survey_changes
from bot.gauges import GaugeSource
from bot.reconcile.controller import Controller
from bot.reconcile.wakeups import WatchHandler
from bot.slack.messages import Renderer
from bot.volumes.anf import NetAppFiles


class DatasetsArea(Area):
    """The catalogue of datasets, their caches and pushes; `makers` finds who wrote a push."""

    def __init__(self, on: Foundations, files: NetAppFiles, makers: Makers) -> None:
        super().__init__(on)
        self._files = files
        self._makers = makers
        self.catalogue = DatasetService(on.settings, on.format_command)
        self.reads = DatasetReads(on.settings)
        self.browsing = BrowseService(on.settings)
        self.browse_reads = BrowseReads(on.settings)
        self.caches = CacheService(on.settings, on.clusters, on.format_command)
        self.cache_reads = CacheReads(on.database, on.clock, on.clusters)
        self.part_reads = PartReads(on.database, self.browse_reads, self.caches)
        self.keeping = KeepingService(on.settings, on.format_command)
        self.usage = UsageService(on.settings, on.clusters)
        self.pushes = PushService(on.settings, on.clusters, on.format_command)

    def copying(self, slack: SlackFiles) -> Controller:
        """The controller of files that are copied from messages in Slack."""
        return DropController(self.on.reconciling, slack)

    @override
    def controllers(self, _deciding: ApprovalContext) -> Sequence[Controller]:
        context = self.on.reconciling
        clouds = (
            FsxOrphans(self.on.database, self.on.settings, self.on.clusters),
            AnfOrphans(self.on.database, self._files, self.on.settings, self.on.clusters),
        )
        return (
            VersionController(context),
            CacheController(context),
            ShareController(context),
            PushController(context, self._makers),
            SweepController(context),
            OrphanController(context, clouds),
        )

    @override
    def renderers(self) -> Sequence[Renderer]:
        clock, settings = self.on.clock, self.on.settings
        return (
            VersionRenderer(clock, settings),
            CacheRenderer(clock),
            PushRenderer(clock, settings),
        )

    @override
    def watch_handlers(self) -> Sequence[WatchHandler]:
        clusters = self.on.clusters
        return (
            survey_changes(clusters),
            cache_changes(clusters),
            share_changes(clusters),
            push_changes(clusters),
            UseWatchHandler(clusters),
        )

    @override
    def gauges(self) -> Sequence[GaugeSource]:
        return (cache_gauges(self.on.settings, self.on.clusters),)
