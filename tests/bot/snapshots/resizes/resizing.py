"""PVCs that grow as leads ask for it; time moves by hand."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sqlmodel import Session
from typing_extensions import override

from bot.approvals import ApprovalController, Approvals, Verdict
from bot.approvals.context import ApprovalContext
from bot.cluster.resources import HOLDERS, PODS
from bot.config import Settings
from bot.database.database import Database
from bot.reconcile.controller import Controller
from bot.reconcile.frame import ControllerContext
from bot.slack.messages import Renderer
from bot.slack.text import as_text
from bot.snapshots.claims.found import ClaimSummary
from bot.snapshots.claims.reads import ClaimReads
from bot.snapshots.resizes.card import ResizeRenderer, question
from bot.snapshots.resizes.controller import ResizeController
from bot.snapshots.resizes.plan import ResizeRequest, bytes_of
from bot.snapshots.resizes.service import ResizeService
from bot.snapshots.resizes.tables import RESIZE, Resize
from bot.volumes.anf import NetAppFiles
from bot.volumes.pools.reads import VolumeReads
from playground.cluster.story import storage_class
from tests.bot.ground import CAROL, ERIN, Outside
from tests.bot.snapshots.rig import CLAIM, CLAIMS, KINDS, SETTINGS, Rig

APPROVALS = "C0APPROVE"
PRICES = {
    "namespace": "datasets",
    "image": "ghcr.io/acme/quartermaster:0.1.0",
    "state": "s3://qm-state/prod",
    "state_store": "state",
    "classes": {"standard": {"price_per_gib_month": 0.1}},
}


class Resizing(Rig):
    """Adds what makes PVCs larger; a GiB of class standard costs 0.10 a month."""

    kinds = (*KINDS, PODS, HOLDERS)

    def __init__(self, database: Database, outside: Outside, folder: Path) -> None:
        self.asked_anew: list[str] = []
        super().__init__(database, outside, folder)
        self.set_limit(None)
        anf = VolumeReads(NetAppFiles(self.settings), self.clusters)
        self.claims = ClaimReads(self.settings, self.clusters, anf)
        self.resizes = ResizeService(self.settings, self.approvals, self.clusters)
        fixed = storage_class("fixed", seconds=0, grows=False)
        self.world.create("storageclasses", fixed)

    def set_limit(self, most: float | None, approvers: Iterable[str] = (CAROL,)) -> None:
        """Above this monthly cost, these people have to approve."""
        told = {"channel": APPROVALS, "pvc_change": {"approvers": {"people": list(approvers)}}}
        policy = {"approvals": told, "pvcs": {"approve_above": most}, "datasets": PRICES}
        policy["stores"] = {"state": {"secret": "state-keys"}}
        self.policy = Settings.model_validate(SETTINGS.model_dump() | policy)

    @override
    def controllers(self, world: ControllerContext) -> list[Controller]:
        self.approvals = Approvals(self.settings, self.access)
        deciders = ApprovalContext(
            self.database, self.clock, self.access, self.approvals, self._asks_anew
        )
        deciding = ApprovalController(self.database, self.clock, self.settings, self.approvals)
        return [*super().controllers(world), deciding, ResizeController(world, deciders)]

    @override
    def renderers(self) -> tuple[Renderer, ...]:
        return (*super().renderers(), ResizeRenderer(self.settings, self.approvals))

    def _asks_anew(self, _workspace: str, users: Iterable[str], _groups: Iterable[str]) -> None:
        self.asked_anew += users

    def summary(self, claim: str = CLAIM) -> ClaimSummary:
        """The PVC as the watches show it now."""
        self.look()
        return self.claims.find("team-a", self.policy.teams["team-a"], claim, None)

    def offer(self, size: str = "2Ti", claim: str = CLAIM) -> str:
        """What a lead is shown before a resize."""
        found, asked = self.summary(claim), asked_of(size, claim)
        plan = self.do(lambda session: self.resizes.plan(session, asked, found))
        return as_text(question(asked, plan))

    def resize(self, size: str = "2Ti", claim: str = CLAIM) -> str:
        """Erin resizes a PVC; the id of the row."""
        found, asked, by = self.summary(claim), asked_of(size, claim), self.caller(ERIN)
        now = self.clock.now()
        return self.do(lambda s: self.resizes.begin(s, by, asked, found, now).id)

    def decides(self, row_id: str, verdict: Verdict = Verdict.APPROVE) -> None:
        """Carol decides."""
        by = self.caller(CAROL, APPROVALS)

        def work(session: Session) -> None:
            found = self.approvals.of(session, RESIZE, row_id)
            assert found is not None
            self.approvals.vote(session, found.id, by, verdict, self.clock.now())

        self.do(work)

    def withdraws(self, row_id: str) -> None:
        """Erin withdraws a resize."""
        by = self.caller(ERIN)

        def work(session: Session) -> None:
            self.resizes.withdraw(session, by, session.get_one(Resize, row_id), self.clock.now())

        self.do(work)

    def row(self, row_id: str) -> Resize:
        return self.do(lambda session: session.get_one(Resize, row_id))

    def add_claim(self, name: str, **spec: Any) -> None:
        """Another PVC of team-a."""
        body = {
            "metadata": {"name": name},
            "spec": {
                "accessModes": ["ReadWriteMany"],
                "storageClassName": "standard",
                "resources": {"requests": {"storage": "1Ti"}},
                **spec,
            },
        }
        self.world.create(CLAIMS, body, "team-a")
        self.look()


def asked_of(size: str, claim: str) -> ResizeRequest:
    """A request of team-a."""
    return ResizeRequest(team="team-a", cluster="default", claim=claim, size_bytes=bytes_of(size))
