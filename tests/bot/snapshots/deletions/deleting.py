"""PVCs that leads delete; time moves by hand."""

from pathlib import Path

from sqlmodel import Session
from typing_extensions import override

from bot.cluster.resources import HOLDERS, PODS
from bot.database.database import Database
from bot.reconcile.controller import Controller
from bot.reconcile.frame import ControllerContext
from bot.slack.messages import Renderer
from bot.slack.text import as_text
from bot.snapshots.claims.found import ClaimSummary
from bot.snapshots.claims.reads import ClaimReads
from bot.snapshots.deletions.card import DeletionRenderer, question
from bot.snapshots.deletions.controller import DeletionController
from bot.snapshots.deletions.service import DeletionRequest, DeletionService
from bot.snapshots.deletions.tables import Deletion
from bot.training.records.mounting import runs_needing
from bot.volumes.anf import NetAppFiles
from bot.volumes.pools.reads import VolumeReads
from tests.bot.ground import ERIN, Outside
from tests.bot.snapshots.rig import CLAIM, CLAIMS, KINDS, Rig


class Deleting(Rig):
    """Adds what deletes PVCs."""

    kinds = (*KINDS, PODS, HOLDERS)

    def __init__(self, database: Database, outside: Outside, folder: Path) -> None:
        super().__init__(database, outside, folder)
        anf = VolumeReads(NetAppFiles(self.settings), self.clusters)
        self.claims = ClaimReads(self.settings, self.clusters, anf)
        self.deletions = DeletionService(self.clusters, self.snapshots, runs_needing)

    @override
    def controllers(self, world: ControllerContext) -> list[Controller]:
        return [*super().controllers(world), DeletionController(world, runs_needing)]

    @override
    def renderers(self) -> tuple[Renderer, ...]:
        return (*super().renderers(), DeletionRenderer())

    def summary(self) -> ClaimSummary:
        """The PVC as the watches show it now."""
        self.look()
        return self.claims.find("team-a", self.policy.teams["team-a"], CLAIM, None)

    def offer(self, *, saves: bool = False) -> str:
        """What a lead is shown before a deletion."""
        found, by = self.summary(), self.caller(ERIN)
        asked, now = asked_of(found.claim.uid, saves=saves), self.clock.now()
        self.do(lambda session: self.deletions.check(session, by, asked, found, now))
        return as_text(question(asked, found))

    def remove(self, *, saves: bool = False) -> str:
        """Erin deletes imagenet; the id of the row."""
        found, by = self.summary(), self.caller(ERIN)
        asked, now = asked_of(found.claim.uid, saves=saves), self.clock.now()
        return self.do(lambda s: self.deletions.begin(s, by, asked, found, now).id)

    def cancels(self, row_id: str) -> None:
        """Erin cancels a deletion."""
        by, now = self.caller(ERIN), self.clock.now()

        def work(session: Session) -> None:
            self.deletions.cancel(session, by, session.get_one(Deletion, row_id), now)

        self.do(work)

    def row(self, row_id: str) -> Deletion:
        return self.do(lambda session: session.get_one(Deletion, row_id))

    def mount(self) -> None:
        """A pod of no run mounts imagenet."""
        volume = {"name": "data", "persistentVolumeClaim": {"claimName": CLAIM}}
        main = {"name": "main", "image": "ghcr.io/acme/lane:3.1"}
        spec = {"containers": [main], "volumes": [volume]}
        self.world.create("pods", {"metadata": {"name": "user"}, "spec": spec}, "team-a")
        self.world.settle()

    def retain(self) -> str:
        """The PV of imagenet is kept when the PVC is deleted; its name."""
        name: str = self.claim(CLAIM)["spec"]["volumeName"]
        policy = {"spec": {"persistentVolumeReclaimPolicy": "Retain"}}
        self.world.patch("persistentvolumes", name, policy)
        return name


def asked_of(uid: str, *, saves: bool = False) -> DeletionRequest:
    """A request of team-a."""
    return DeletionRequest(team="team-a", cluster="default", claim=CLAIM, uid=uid, saves=saves)


__all__ = ["CLAIM", "CLAIMS", "Deleting", "asked_of"]
