"""The controllers, renderers and watch handlers of datasets."""

from collections.abc import Mapping

from bot.clock import Clock
from bot.cluster.cluster import Cluster
from bot.datasets.caches.controller import CacheController
from bot.datasets.caches.evictions.controller import SweepController, UseEar
from bot.datasets.caches.renderer import CacheRenderer
from bot.datasets.caches.shares.controller import ShareController
from bot.datasets.caches.shares.watching import ShareEar
from bot.datasets.caches.watching import CacheEar
from bot.datasets.pushes.controller import PushController
from bot.datasets.pushes.lineage import Makers
from bot.datasets.pushes.renderer import PushRenderer
from bot.datasets.pushes.watching import PushEar
from bot.datasets.renderer import VersionRenderer
from bot.datasets.versions.controller import VersionController
from bot.datasets.versions.watching import SurveyEar
from bot.reconcile.controller import Controller
from bot.reconcile.frame import ControllerContext
from bot.reconcile.wakeups import WatchHandler
from bot.slack.messages import Renderer


def controllers(context: ControllerContext, makers: Makers) -> tuple[Controller, ...]:
    """The controllers; `makers` finds who wrote the files of a push."""
    return (
        VersionController(context),
        CacheController(context),
        ShareController(context),
        PushController(context, makers),
        SweepController(context),
    )


def renderers(clock: Clock) -> tuple[Renderer, ...]:
    """The renderers of their cards."""
    return VersionRenderer(clock), CacheRenderer(clock), PushRenderer(clock)


def ears(clusters: Mapping[str, Cluster]) -> tuple[WatchHandler, ...]:
    """The watch handlers, which map a changed object to its rows."""
    return (
        SurveyEar(clusters),
        CacheEar(clusters),
        ShareEar(clusters),
        PushEar(clusters),
        UseEar(clusters),
    )
