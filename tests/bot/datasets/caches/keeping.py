"""Caches that are there already, in rows and in a cluster, and what keeps or evicts them."""

from datetime import datetime, timedelta
from random import Random
from typing import Any

from sqlmodel import Session, col, select
from typing_extensions import override

from bot import holds
from bot.audit import Actor
from bot.cluster import labels
from bot.cluster.resources import JOBS, PVCS
from bot.config import Settings
from bot.database.database import Database
from bot.datasets.caches.evictions import eviction
from bot.datasets.caches.evictions.controller import SweepController
from bot.datasets.caches.evictions.marking import Mark, mark
from bot.datasets.caches.evictions.sweep import look_through
from bot.datasets.caches.lifecycle.service import KeepingService
from bot.datasets.caches.tables import CACHE, SHARE, Cache, CacheIntent, CachePhase, CacheShare
from bot.people.access import Caller, ChannelPlace, Role
from bot.reconcile import due
from bot.reconcile.controller import Step, Trouble
from bot.reconcile.frame import ControllerContext
from bot.reconcile.loop import Loop
from tests.bot.datasets.caches.rows import add_cached
from tests.bot.datasets.rig import SETTINGS
from tests.bot.ground import ALICE, INSTALLATION, TEAM_A, Ground, Outside

HOLD = {"thing_kind": CACHE, "subject_kind": "run", "why": "run lane of team-a"}
SNAPSHOT_CRD = {
    "metadata": {"name": "volumesnapshots.snapshot.storage.k8s.io"},
    "spec": {
        "group": "snapshot.storage.k8s.io",
        "names": {"plural": "volumesnapshots", "kind": "VolumeSnapshot", "singular": "x"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}


def settings(**datasets: Any) -> Settings:
    """The usual settings with more said of datasets."""
    assert SETTINGS.datasets is not None
    told = SETTINGS.datasets.model_dump() | {"classes": {"standard": {}}} | datasets
    return Settings.model_validate(SETTINGS.model_dump() | {"datasets": told})


class Evicting:
    """The part of a cache's controller that evicts."""

    kind = CACHE

    def __init__(self, world: ControllerContext) -> None:
        self._world = world

    def step(self, row_id: str) -> Step:
        cache = self._world.database.read(lambda session: session.get_one(Cache, row_id))
        if cache.wanted != CacheIntent.EVICT and cache.phase != CachePhase.EVICTING:
            return Step(None)
        return eviction.step(self._world, cache, self._world.clock.now())

    def on_failure(self, session: Session, row_id: str, trouble: Trouble, /) -> None:
        cache = session.get_one(Cache, row_id)
        cache.trouble = trouble.sentence
        session.add(cache)


class Leaving:
    """Shares that go as soon as nobody wants them."""

    kind = SHARE

    def __init__(self, world: ControllerContext) -> None:
        self._world = world

    def step(self, row_id: str) -> Step:
        now = self._world.clock.now()

        def save(session: Session) -> None:
            share = session.get_one(CacheShare, row_id)
            if not share.is_wanted and not share.trouble:
                share.ended_at = now
                session.add(share)

        known = self._world.database.read(lambda session: session.get_one(CacheShare, row_id))
        return Step(now + timedelta(seconds=15) if known.trouble else None, save)

    def on_failure(self, _session: Session, _row_id: str, trouble: Trouble, /) -> None:
        raise AssertionError(trouble.sentence)


class Keeping(Ground):
    """What keeps and evicts caches, as the composition root builds it; time moves by hand."""

    def __init__(self, database: Database, outside: Outside) -> None:
        super().__init__(database, outside, settings())
        world = self.context
        controllers = (Evicting(world), Leaving(world), SweepController(world))
        self.loop = Loop(database, self.clock, controllers)
        self._offsets = Random(23)  # noqa: S311 - what is repeated is no secret
        self.world.create("namespaces", {"metadata": {"name": "datasets"}})

    @override
    def look(self) -> None:
        self.world.settle()

    def cache(self, name: str = "chest-xray", **more: Any) -> str:
        """A ready cache with its PVC and volume; its id."""
        now = self.clock.now()
        times = {"asked_at": now, "used_at": now, "ready_at": now, "since": now}
        later = {key: more.pop(key) for key in (*times, "keep_seconds") if key in more}

        def add(session: Session) -> Cache:
            row = add_cached(session, name, **more)
            for key, value in (times | later).items():
                setattr(row, key, value)
            return row

        cache = self.do(add)
        self.world.create("persistentvolumeclaims", self.claim(cache), "datasets")
        self.world.settle()
        found = self.cluster.get(PVCS, cache.claim_name, "datasets")
        assert found is not None

        def bind(session: Session) -> None:
            row = session.get_one(Cache, cache.id)
            row.claim_uid, row.volume_name = found.uid, found.spec.volume_name
            session.add(row)

        self.do(bind)
        return cache.id

    def claim(self, cache: Cache, name: str = "", **spec: Any) -> dict[str, Any]:
        """The PVC of a cache, or another one."""
        ours = {labels.INSTALLATION: INSTALLATION, labels.DATASET_CACHE: cache.id}
        return {
            "metadata": {"name": name or cache.claim_name, "labels": {} if name else ours},
            "spec": {
                "accessModes": ["ReadWriteMany"],
                "storageClassName": cache.storage_class,
                "resources": {"requests": {"storage": "300Gi"}},
                **spec,
            },
        }

    def get(self, cache_id: str) -> Cache:
        return self.do(lambda session: session.get_one(Cache, cache_id))

    def mark(self, cache_id: str, person: str = ALICE) -> None:
        """Somebody wants it evicted."""
        asked = Mark(Actor("T0QM", person, team="team-a"), "Alice asked for it.")
        now = self.clock.now()
        self.do(lambda session: mark(session, session.get_one(Cache, cache_id), asked, now))

    def extend(self, cache_id: str, until: datetime) -> None:
        """Alice puts its eviction off."""
        service, now = KeepingService(self.settings, self.words), self.clock.now()
        by = Caller("T0QM", ALICE, TEAM_A, ChannelPlace.TEAM, "team-a", frozenset({Role.MEMBER}))

        def work(session: Session) -> Cache:
            return service.extend_until(session, by, service.get(session, by, cache_id), until, now)

        self.do(work)

    def hold(self, cache_id: str, **more: Any) -> None:
        """A run, or somebody else, holds it."""
        fields = HOLD | {"thing_id": cache_id, "subject_id": "run-1"} | more
        self.do(lambda session: holds.take(session, holds.Hold(**fields)))

    def release(self) -> None:
        self.do(lambda session: holds.release(session, "run", "run-1"))

    def mount(self, cache_id: str, name: str = "loader", namespace: str = "datasets") -> None:
        """A pod of somebody mounts the cache, for as long as it is not removed."""
        claim = {"persistentVolumeClaim": {"claimName": self.get(cache_id).claim_name}}
        container = {"name": "main", "image": "busybox", "command": ["sleep", "infinity"]}
        pod = {
            "metadata": {"name": name},
            "spec": {"containers": [container], "volumes": [{"name": "data", **claim}]},
        }
        self.world.create("pods", pod, namespace)
        self.world.settle()

    def unmount(self, name: str = "loader", namespace: str = "datasets") -> None:
        self.world.delete("pods", name, namespace)
        self.world.settle()

    def share(self, cache_id: str, namespace: str = "team-a") -> None:
        """The cache is seen in another namespace."""
        cache, now = self.get(cache_id), self.clock.now()
        row = CacheShare(
            workspace_id="T0QM",
            cache_id=cache_id,
            cluster="default",
            namespace=namespace,
            claim_name=cache.claim_name,
            asked_at=now,
            since=now,
        )
        self.do(lambda session: session.add(row))

    def stick(self, trouble: str) -> None:
        """Something keeps all shares from going, or nothing any more."""

        def work(session: Session) -> None:
            for share in session.exec(select(CacheShare)).all():
                share.trouble = trouble
                session.add(share)

        self.do(work)

    def sweep(self) -> None:
        """A sweep now, and what follows from it."""
        now = self.clock.now()
        self.do(lambda session: look_through(self.settings(), session, now))
        self.run()

    def live(self, minutes: float = 60, **length: float) -> None:
        """Lets time pass with a sweep about every so many minutes, and never on the exact moment.

        The last one falls up to five minutes after the end, as one does where they come every five.
        """
        end = self.clock.now() + timedelta(**length)
        while self.clock.now() < end:
            step = timedelta(minutes=minutes, seconds=-self._offsets.uniform(61, 299))
            late = end + timedelta(seconds=self._offsets.uniform(1, 299))
            self.outside.clock.moment = min(self.clock.now() + step, late)
            self.sweep()
        self.pass_time(minutes=1)

    def gone(self) -> bool:
        """Whether nothing of caches is left in the cluster."""
        claims = self.cluster.list(PVCS, "datasets", labels=labels.DATASET_CACHE)
        return not claims and not self.cluster.list(JOBS, "datasets")

    def due(self) -> datetime | None:
        return self.do(lambda session: due.earliest(session, (CACHE,)))

    def rows(self) -> list[Cache]:
        return list(self.do(lambda s: s.exec(select(Cache).order_by(col(Cache.id))).all()))
