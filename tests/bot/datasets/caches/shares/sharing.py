"""Shares on a database and on a whole cluster behind HTTP, with caches that are ready."""

from typing import Any

from sqlmodel import Session
from typing_extensions import override

from bot.cluster import labels
from bot.cluster.resources import PVCS, VOLUMES, Resource
from bot.cluster.view import Change
from bot.database.database import Database
from bot.datasets.caches.shares import service
from bot.datasets.caches.shares.controller import ShareController, share_changes
from bot.datasets.caches.tables import SHARE, Cache, CacheShare
from bot.reconcile import due
from bot.reconcile.loop import Loop
from bot.reconcile.wakeups import cluster_lane
from playground.cluster.story import storage_class
from tests.bot.datasets.caches.rows import add_cached
from tests.bot.datasets.rig import SETTINGS
from tests.bot.ground import INSTALLATION, Ground, Outside

NFS, TRIDENT = "nfs.csi.k8s.io", "csi.trident.netapp.io"
CLAIMS = "persistentvolumeclaims"


class Sharing(Ground):
    """Everything of shares, built as the composition root builds it."""

    def __init__(self, database: Database, outside: Outside) -> None:
        super().__init__(database, outside, SETTINGS)
        self._watch_handler, self._known = share_changes(self.clusters), dict[str, str]()
        self.restart()
        self.world.create("namespaces", {"metadata": {"name": "datasets"}})

    def restart(self) -> None:
        """A new process on the same database."""
        world = self.context
        self.controller = ShareController(world)
        self.loop = Loop(self.database, self.clock, [self.controller])

    @override
    def look(self) -> None:
        """Wakes whom changed PVCs and volumes concern, as a watch does."""
        self.world.settle()
        self.do(self._wake)

    def _wake(self, session: Session) -> None:
        heard: tuple[Resource[Any], ...] = (PVCS, VOLUMES)
        for resource in heard:
            for each in self.cluster.list(resource):
                if self._known.get(each.uid) != each.metadata.resource_version:
                    self._known[each.uid] = each.metadata.resource_version
                    for wakeup in self._watch_handler(
                        Change("default", resource, "modified", each)
                    ):
                        due.wake(session, *wakeup, self.clock.now())

    def cache(self, driver: str = NFS, policy: str = "Delete", **fields: Any) -> Cache:
        """A cache on a volume of this driver, whose class has that reclaimPolicy."""
        told = {"storage_class": "fast", **fields}
        cache: Cache = self.do(lambda session: add_cached(session, **told))
        body = storage_class("fast", seconds=0) | {"provisioner": driver, "reclaimPolicy": policy}
        self.world.create("storageclasses", body)
        marks = {labels.DATASET_CACHE: cache.id, labels.INSTALLATION: INSTALLATION}
        claim = {
            "metadata": {"name": cache.claim_name, "labels": marks},
            "spec": {
                "accessModes": ["ReadWriteMany"],
                "storageClassName": "fast",
                "resources": {"requests": {"storage": "300Gi"}},
            },
        }
        self.world.create(CLAIMS, claim, "datasets")
        self.world.settle()
        return cache

    def share(self, cache: Cache, namespace: str = "team-b") -> str:
        """Somebody in the namespace needs the cache; the share's id."""

        def work(session: Session) -> str:
            name = service.claim_for(session, cache, namespace, self.clock.now())
            found = service.by_claim(session, cache.id, name)
            assert found is not None
            return found.id

        return self.do(work)

    def leave(self, cache: Cache) -> None:
        """The cache is to go, and so are its shares."""
        self.do(lambda session: service.leave(session, cache.id, self.clock.now()))

    def get(self, share_id: str) -> CacheShare:
        return self.do(lambda session: session.get_one(CacheShare, share_id))

    def claim(self, share_id: str) -> Any:
        """The share's PVC as the cluster has it."""
        row = self.get(share_id)
        return self.world.get(CLAIMS, row.claim_name, row.namespace)

    def source(self, cache: Cache) -> Any:
        """The cache's own PVC."""
        return self.world.get(CLAIMS, cache.claim_name, cache.namespace)

    def volume(self, name: str) -> Any:
        """A volume as the cluster has it."""
        return self.world.get("persistentvolumes", name)

    def volumes(self) -> list[str]:
        """The volumes of the namespaces datasets, team-b and team-c, by their claims."""
        refs = [each["spec"].get("claimRef") or {} for each in self.world.list("persistentvolumes")]
        places = sorted(f"{each['namespace']}/{each['name']}" for each in refs)
        return [each for each in places if not each.startswith("team-a/") and "imagenet" not in each
                and "team-b-data" not in each]  # fmt: skip

    def wake(self, session: Session, share_id: str) -> None:
        """Has somebody look at a share."""
        due.wake(session, SHARE, share_id, cluster_lane("default"), self.clock.now())
