"""Pushes on a database and on a whole cluster behind HTTP, whose worker only talks."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from typing_extensions import override

from bot import holds
from bot.cluster.resources import (
    JOBS,
    PVCS,
    SNAPSHOT_CLASSES,
    SNAPSHOTS,
    STORAGE_CLASSES,
    VOLUMES,
    Resource,
)
from bot.cluster.view import Change
from bot.database.database import Database, Session
from bot.datasets.caches.shares.controller import ShareController, share_changes
from bot.datasets.pushes.card import PushRenderer
from bot.datasets.pushes.controller import PushController, push_changes
from bot.datasets.pushes.plan import PushRequest
from bot.datasets.pushes.service import PushOffer, PushService
from bot.datasets.tables import Push
from bot.datasets.versions.controller import VersionController
from bot.holds import Hold
from bot.reconcile import due
from bot.reconcile.loop import Loop
from bot.slack.card import Reply
from bot.slack.text import as_text
from bot.training.records.makers import makers_of
from playground.cluster.control.training import Line, Training
from playground.cluster.story import snapshot_class, storage_class
from tests.bot.datasets.rig import IMAGE, Rig
from tests.bot.ground import ALICE, TEAM_A, Outside

NFS, TRIDENT = "nfs.csi.k8s.io", "csi.trident.netapp.io"
SNAPSHOT_KINDS: tuple[Resource[Any], ...] = (SNAPSHOTS, SNAPSHOT_CLASSES)
CLAIMS, MOUNTED = "persistentvolumeclaims", "persistentvolumes"
FILES, SIZE = 1200, 48_000_000_000
DONE = {
    "event": "done",
    "phase": "verifying",
    "objects": FILES,
    "bytes": SIZE,
    "seconds": 40.0,
    "copied_files": FILES,
    "copied_bytes": SIZE,
    "verified_by": {"md5": FILES},
    "links": {"count": 2, "first": []},
    "others": 0,
}
TARGET = "s3://lake/chest-xray/"


class Pushing(Rig):
    """Everything of pushes, built as the composition root builds it."""

    def __init__(self, database: Database, outside: Outside) -> None:
        super().__init__(database, outside)
        self.pushes = PushService(self.settings, self.clusters, self.words)
        self._handlers = (push_changes(self.clusters), share_changes(self.clusters))
        self._heard = dict[str, str]()
        self.has_snapshots = False
        self.claim("results")
        self.others = self.volumes()
        self.pushes_so()

    @override
    def restart(self) -> None:
        world = self.context
        pushes = PushController(world, makers_of)
        keepers = (VersionController(world), ShareController(world), pushes)
        self.loop = Loop(self.database, self.clock, keepers)

    def claim(self, name: str, driver: str = NFS, mode: str = "ReadWriteMany") -> None:
        """A PVC of team-a on a volume of this driver."""
        body = storage_class(f"{name}-class", seconds=0) | {"provisioner": driver}
        self.world.create("storageclasses", body)
        spec = {
            "accessModes": [mode],
            "storageClassName": f"{name}-class",
            "resources": {"requests": {"storage": "1Ti"}},
        }
        self.world.create(CLAIMS, {"metadata": {"name": name}, "spec": spec}, "team-a")
        self.world.settle()

    def snapshot(
        self,
        name: str = "monday",
        of: str = "results",
        driver: str = NFS,
        marks: Mapping[str, str] | None = None,
    ) -> None:
        """A VolumeSnapshot of team-a that is ready; `marks` are its labels."""
        if not self.has_snapshots:
            self.has_snapshots = True
            self.world.install("snapshots")
            self.world.create("volumesnapshotclasses", snapshot_class(driver=driver, seconds=0))
        spec = {"source": {"persistentVolumeClaimName": of}}
        metadata = {"name": name, "labels": dict(marks or {})}
        self.world.create("volumesnapshots", {"metadata": metadata, "spec": spec}, "team-a")
        self.outside.clock.moment += timedelta(seconds=5)
        self.world.settle()

    def pushes_so(self, last: dict[str, Any] = DONE, *, seconds: float = 40, code: int = 0) -> None:
        """How the next pushes go: progress until so many seconds have passed, then this."""

        def log(_training: Training, started: datetime, until: datetime) -> list[Line]:
            passed = min(seconds, (until - started).total_seconds())
            steps = range(5, int(passed) + 1, 5)
            said = [(started + timedelta(seconds=n), _progress(n / seconds)) for n in steps]
            if passed >= seconds:
                said.append((started + timedelta(seconds=seconds), json.dumps(last)))
            return said

        self.world.behaviours[IMAGE] = Training(
            epochs=1,
            seconds_per_epoch=seconds - 4,
            log=log,
            fails_after=seconds if code else None,
            exit_code=code,
        )

    @override
    def look(self) -> None:
        super().look()
        self.view()
        self.do(self._hear)

    def view(self) -> None:
        """Takes what a push looks at into the view, as watches do."""
        kinds: list[Resource[Any]] = [PVCS, VOLUMES, STORAGE_CLASSES]
        kinds += SNAPSHOT_KINDS if self.has_snapshots else ()
        for resource in kinds:
            self.refresh(resource)

    def ask(self, person: str = ALICE, channel: str = TEAM_A, **more: Any) -> PushOffer:
        """Somebody asks what pushing results:/run-7 to lake/chest-xray does."""
        self.view()
        by, options = self.caller(person, channel), _options(more)
        return self.do(lambda session: self.pushes.ask(session, by, options))

    def push(self, person: str = ALICE, channel: str = TEAM_A, **more: Any) -> str:
        """Somebody has that pushed; the id of its row."""
        self.view()
        by, options = self.caller(person, channel), _options(more)
        return self.do(lambda session: self.pushes.begin(session, by, options, self.clock.now()).id)

    def stop(self, push_id: str, person: str = ALICE, channel: str = TEAM_A) -> None:
        """Somebody ends it."""
        by = self.caller(person, channel)

        def work(session: Session) -> None:
            self.pushes.stop(session, by, self.pushes.get(session, push_id), self.clock.now())

        self.do(work)

    def found(self, push_id: str) -> Push:
        return self.do(lambda session: session.get_one(Push, push_id))

    def holds_on(self, snapshot_id: str) -> list[Hold]:
        """What needs a snapshot of ours."""
        now = self.clock.now()
        return self.do(lambda session: holds.on(session, holds.SNAPSHOT, snapshot_id, now))

    def shown(self, push_id: str) -> str:
        """The push's card as text."""
        renderer = PushRenderer(self.clock, self.settings)
        card = self.do(lambda session: renderer.card(session, push_id, TEAM_A))
        assert card is not None
        return as_text(Reply(card=card))

    def own_claim(self) -> Any:
        """The team's PVC as the cluster has it."""
        return self.world.get(CLAIMS, "results", "team-a")

    def volume(self, name: str) -> Any:
        """What a volume is."""
        found: Any = self.world.get(MOUNTED, name)
        return found["spec"]

    def volumes(self) -> list[str]:
        return sorted(each["metadata"]["name"] for each in self.world.list(MOUNTED))

    def nothing_is_left(self) -> bool:
        """Whether no Job, PVC or volume of a push is there, and the team's PVC is as it was."""
        noted = self.own_claim()["metadata"].get("annotations") or {}
        left = (
            self.jobs(),
            self.world.list(CLAIMS, "datasets"),
            self.copies(),
            [each for each in self.volumes() if each not in self.others],
            [key for key in noted if key.startswith("trident")],
        )
        return left == ([], [], [], [], [])

    def copies(self) -> list[str]:
        """Snapshots and contents that are ours."""
        if not self.has_snapshots:
            return []
        found = self.world.list("volumesnapshotcontents")
        contents = [each for each in found if each["spec"]["deletionPolicy"] == "Retain"]
        ours = [*self.world.list("volumesnapshots", "datasets"), *contents]
        return [each["metadata"]["name"] for each in ours]

    def _hear(self, session: Session) -> None:
        kinds: list[Resource[Any]] = [JOBS, PVCS, VOLUMES]
        kinds += SNAPSHOT_KINDS[:1] if self.has_snapshots else ()
        for resource in kinds:
            for each in self.cluster.list(resource):
                if self._heard.get(each.uid) != each.metadata.resource_version:
                    self._heard[each.uid] = each.metadata.resource_version
                    change = Change("default", resource, "modified", each)
                    for wakeup in (
                        wakeup for handler in self._handlers for wakeup in handler(change)
                    ):
                        due.wake(session, *wakeup, self.clock.now())


def _options(more: dict[str, Any]) -> PushRequest:
    source = {"claim": "" if "snapshot" in more else "results", "folder": "/run-7"}
    return PushRequest(**(source | {"target": TARGET} | more))


def _progress(part: float) -> str:
    told = {
        "event": "progress",
        "phase": "copying",
        "files_done": int(FILES * part),
        "files_total": FILES,
        "bytes_done": int(SIZE * part),
        "bytes_total": SIZE,
    }
    return json.dumps(told | {"bytes_per_second": SIZE / 40})
