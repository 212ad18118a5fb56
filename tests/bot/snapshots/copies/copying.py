"""PVCs that leads copy to PVCs many pods can mount; the worker is a real process."""

import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sqlmodel import Session
from typing_extensions import override

from bot.approvals import ApprovalController, Approvals, Verdict
from bot.approvals.context import ApprovalContext
from bot.cluster.resources import HOLDERS, JOBS, PODS
from bot.config import Settings
from bot.database.database import Database
from bot.reconcile.controller import Controller
from bot.reconcile.frame import ControllerContext
from bot.slack.messages import Renderer
from bot.slack.text import as_text
from bot.snapshots.claims.found import ClaimSummary
from bot.snapshots.claims.reads import ClaimReads
from bot.snapshots.copies.card import CopyRenderer, question
from bot.snapshots.copies.controller import CopyController, copy_changes
from bot.snapshots.copies.plan import CopyRequest
from bot.snapshots.copies.service import CopyService
from bot.snapshots.copies.tables import COPY, Copy
from bot.volumes.anf import NetAppFiles
from bot.volumes.pools.reads import VolumeReads
from playground.bucket import WORKER_IMAGE
from playground.cluster.story import storage_class
from tests.bot.ground import CAROL, ERIN, Outside
from tests.bot.snapshots.rig import CLAIMS, KINDS, SETTINGS, TAKEN, Rig

APPROVALS = "C0APPROVE"
DISK, SHARED = "data", "data-shared"
MODES = {"disks": "ReadWriteOnce", "nfs-rwx": "ReadWriteMany", "standard": "ReadWriteOnce"}
PRICES = {
    "namespace": "datasets",
    "image": WORKER_IMAGE,
    "state": "s3://qm-state/prod",
    "state_store": "state",
    "classes": {
        "nfs-rwx": {"price_per_gib_month": 0.2},
        "disks": {"price_per_gib_month": 0.1},
    },
}
_PATIENCE_SECONDS = 60


class Copying(Rig):
    """Adds what copies PVCs, and `data`: 100 GiB of class disks, for one node at a time."""

    kinds = (*KINDS, PODS, HOLDERS, JOBS)

    def __init__(self, database: Database, outside: Outside, folder: Path) -> None:
        super().__init__(database, outside, folder)
        self.set()
        self._watch_handlers.append(copy_changes(self.clusters))
        self.world.programs.images[WORKER_IMAGE] = (sys.executable, "-m", "bot")
        anf = VolumeReads(NetAppFiles(self.settings), self.clusters)
        self.claims = ClaimReads(self.settings, self.clusters, anf)
        self.copies = CopyService(self.settings, self.approvals, self.clusters, self.words)
        for name in ("disks", "nfs-rwx"):
            self.world.create("storageclasses", storage_class(name, seconds=0))
        self.add_claim(DISK)
        self.files = {"train/1.png": b"one", "train/2.png": b"two" * 100_000, "labels.csv": b"x"}
        for name, content in self.files.items():
            path = self.folder_of(DISK) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    @override
    def set(
        self, most: float | None = None, approvers: Iterable[str] = (CAROL,), **more: Any
    ) -> None:
        """Above this monthly cost, these people have to approve."""
        told = {"channel": APPROVALS, "pvc_change": {"approvers": {"people": list(approvers)}}}
        policy = {"approvals": told, "pvcs": {"approve_above": most}, "datasets": PRICES}
        policy |= {"stores": {"state": {"secret": "state-keys"}}}
        policy |= {"clusters": {"default": {"access_modes": MODES}}} | more
        self.policy = Settings.model_validate(SETTINGS.model_dump() | policy)

    @override
    def controllers(self, world: ControllerContext) -> list[Controller]:
        self.approvals = Approvals(self.settings, self.access)
        deciders = ApprovalContext(
            self.database, self.clock, self.access, self.approvals, lambda *_: None
        )
        deciding = ApprovalController(self.database, self.clock, self.settings, self.approvals)
        return [*super().controllers(world), deciding, CopyController(world, deciders)]

    @override
    def renderers(self) -> tuple[Renderer, ...]:
        own = CopyRenderer(self.clock, self.settings, self.approvals, self.words)
        return (*super().renderers(), own)

    def add_claim(self, name: str, **spec: Any) -> None:
        """A PVC of team-a, for one node at a time."""
        body = {
            "metadata": {"name": name},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "disks",
                "resources": {"requests": {"storage": "100Gi"}},
                **spec,
            },
        }
        self.world.create(CLAIMS, body, "team-a")
        self.pass_time(seconds=5)

    def folder_of(self, claim: str) -> Path:
        """What stands for the volume of a PVC."""
        return self.world.programs.volume("team-a", claim)

    def content(self, claim: str = SHARED) -> dict[str, bytes]:
        """What a PVC holds."""
        root = self.folder_of(claim)
        paths = [each for each in root.rglob("*") if each.is_file()]
        return {each.relative_to(root).as_posix(): each.read_bytes() for each in paths}

    def summary(self, claim: str = DISK) -> ClaimSummary:
        """The PVC as the watches show it now."""
        self.look()
        return self.claims.find("team-a", self.policy.teams["team-a"], claim, None)

    def asked(self, found: ClaimSummary, **options: Any) -> CopyRequest:
        """A request of team-a."""
        usual = {"target": SHARED, "storage_class": "nfs-rwx"} | options
        return CopyRequest(
            team="team-a", cluster="default", claim=found.claim.name, uid=found.claim.uid, **usual
        )

    def offer(self, claim: str = DISK, **options: Any) -> str:
        """What a lead is shown before a copy."""
        found = self.summary(claim)
        asked = self.asked(found, **options)
        plan = self.do(lambda session: self.copies.plan(session, asked, found))
        return as_text(question(asked, plan, self.words))

    def copy(self, claim: str = DISK, **options: Any) -> str:
        """Erin copies a PVC; the id of the row."""
        found, by, now = self.summary(claim), self.caller(ERIN), self.clock.now()
        asked = self.asked(found, **options)
        return self.do(lambda s: self.copies.begin(s, by, asked, found, now).id)

    def stops(self, row_id: str) -> None:
        """Erin stops a copy, or withdraws it."""
        by, now = self.caller(ERIN), self.clock.now()

        def work(session: Session) -> None:
            self.copies.stop(session, by, session.get_one(Copy, row_id), now)

        self.do(work)

    def decides(self, row_id: str, verdict: Verdict = Verdict.APPROVE) -> None:
        """Carol decides."""
        by = self.caller(CAROL, APPROVALS)

        def work(session: Session) -> None:
            found = self.approvals.of(session, COPY, row_id)
            assert found is not None
            self.approvals.vote(session, found.id, by, verdict, self.clock.now())

        self.do(work)

    def row(self, row_id: str) -> Copy:
        return self.do(lambda session: session.get_one(Copy, row_id))

    def works(self, row_id: str, *, restarts: bool = False) -> Copy:
        """Lets time pass until nothing is left to do; a worker that runs gets real time."""
        for _ in range(_PATIENCE_SECONDS * 20):
            if restarts:
                self.restart()
            self.pass_time(seconds=2)
            if self.row(row_id).is_cleared:
                return self.row(row_id)
            if self.world.programs.is_busy:
                threading.Event().wait(0.05)
        raise AssertionError(f"it has not ended: {self.card(row_id)}")

    def mount(self, claim: str = DISK, **spec: Any) -> None:
        """A pod of no run mounts a PVC."""
        volume = {"name": "data", "persistentVolumeClaim": {"claimName": claim}}
        main = {"name": "main", "image": "ghcr.io/acme/lane:3.1"}
        body = {"containers": [main], "volumes": [volume], **spec}
        self.world.create("pods", {"metadata": {"name": "user"}, "spec": body}, "team-a")
        self.pass_time(seconds=10)

    def left(self) -> dict[str, list[str]]:
        """What is in the namespace, beside pods and the PVC that every team has."""
        found = {plural: sorted(self.objects(plural)) for plural in ("jobs", CLAIMS, TAKEN)}
        found[CLAIMS].remove("team-a-data")
        return found
