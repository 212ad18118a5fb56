"""Pods that begin to mount a cache, and those that are gone, have it looked at."""

import pytest

from bot.cluster import labels
from bot.cluster.resources import JOBS, PODS, PVCS
from bot.cluster.view import Change, Kind
from bot.datasets.caches.evictions.controller import UseWatchHandler
from bot.datasets.caches.tables import SWEEP
from bot.reconcile.wakeups import Wakeup
from tests.bot.datasets.caches.keeping import Keeping


def heard(keeping: Keeping, kind: Kind) -> list[Wakeup]:
    keeping.cluster.view.store(PVCS).replace(keeping.cluster.list(PVCS, "datasets"))
    (pod,) = keeping.cluster.list(PODS, "datasets")
    return list(UseWatchHandler(keeping.clusters)(Change("default", PODS, kind, pod)))


@pytest.mark.parametrize("kind", ["added", "deleted"])
def test_a_pod_of_a_cache_is_heard(keeping: Keeping, kind: Kind) -> None:
    keeping.mount(keeping.cache())
    assert heard(keeping, kind) == [Wakeup(SWEEP, "default", "cluster:default")]


def test_what_changes_nothing_is_not_heard(keeping: Keeping) -> None:
    keeping.mount(keeping.cache())
    assert heard(keeping, "modified") == []


def test_claims_of_other_bots_are_not_heard(keeping: Keeping) -> None:
    cache_id = keeping.cache()
    keeping.mount(cache_id)
    name = keeping.get(cache_id).claim_name
    change = {"metadata": {"labels": {labels.INSTALLATION: "another"}}}
    keeping.world.patch("persistentvolumeclaims", name, change, "datasets")
    assert heard(keeping, "added") == []


def test_only_pods_are_listened_to(keeping: Keeping) -> None:
    keeping.mount(keeping.cache())
    assert list(UseWatchHandler(keeping.clusters)(Change("default", JOBS, "added"))) == []
    assert list(UseWatchHandler(keeping.clusters)(Change("default", PODS, "synced"))) == []
