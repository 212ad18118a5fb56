"""PVCs on Trident, which puts them back in place, with people who approve it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sqlmodel import Session
from typing_extensions import override

from bot.approvals import ApprovalController, Approvals, Verdict
from bot.approvals.context import ApprovalContext
from bot.cluster.resources import PODS, SNAPSHOT_ACTIONS
from bot.config import Settings
from bot.database.database import Database
from bot.reconcile.controller import Controller
from bot.reconcile.frame import ControllerContext
from bot.slack.messages import Renderer
from bot.snapshots.reverts.card import RevertRenderer
from bot.snapshots.reverts.controller import RevertController
from bot.snapshots.reverts.service import RevertService
from bot.snapshots.tables import REVERT, Revert, Snapshot
from playground.cluster.story import claim, snapshot_class, storage_class
from tests.bot.ground import ALICE, CAROL, Outside
from tests.bot.snapshots.rig import CLAIMS, KINDS, SETTINGS, Rig

APPROVALS = "C0APPROVE"
RESULTS, TRIDENT = "results", "csi.trident.netapp.io"
ACTIONS = "tridentactionsnapshotrestores"
POLICY = {"approvers": {"people": [ALICE, CAROL]}}


def approved_by(**policy: Any) -> Settings:
    """The usual settings where these approve."""
    approvals = {"channel": APPROVALS, "snapshot_restore": POLICY | policy}
    return Settings.model_validate(SETTINGS.model_dump() | {"approvals": approvals})


class InPlace(Rig):
    """Adds a PVC `results` of team-a on Trident, and what puts it back."""

    kinds = (*KINDS, SNAPSHOT_ACTIONS, PODS)

    def __init__(self, database: Database, outside: Outside, folder: Path) -> None:
        world = outside.cluster
        world.install("trident")
        kind = storage_class("anf", seconds=1)
        world.create("storageclasses", kind | {"provisioner": TRIDENT})
        late = storage_class("late", waits=True)
        world.create("storageclasses", late | {"provisioner": TRIDENT})
        body = claim(RESULTS)
        body["spec"]["storageClassName"] = "anf"
        world.create(CLAIMS, body, "team-a")
        self.asked_anew: list[str] = []
        super().__init__(database, outside, folder)
        world.create("volumesnapshotclasses", snapshot_class("trident", TRIDENT, seconds=1))
        self.policy = approved_by()
        self.reverts = RevertService(
            self.settings, self.access, self.approvals, self.clusters, self.words
        )
        self.pass_time(seconds=10)
        self.fill("monday")

    @override
    def controllers(self, world: ControllerContext) -> list[Controller]:
        self.approvals = Approvals(self.settings, self.access)
        deciders = ApprovalContext(
            self.database, self.clock, self.access, self.approvals, self._asks_anew
        )
        deciding = ApprovalController(self.database, self.clock, self.settings, self.approvals)
        return [*super().controllers(world), deciding, RevertController(world, deciders)]

    @override
    def renderers(self) -> tuple[Renderer, ...]:
        return (
            *super().renderers(),
            RevertRenderer(self.clock, self.settings, self.approvals),
        )

    def _asks_anew(self, _workspace: str, users: Iterable[str], _groups: Iterable[str]) -> None:
        self.asked_anew += users

    def snapshot(self) -> Snapshot:
        """A snapshot of results that is ready."""
        return self.taken(claim=RESULTS)

    def put_back(
        self, row: Snapshot, person: str = ALICE, *, saves: bool = False, why: str = "a bad run"
    ) -> str:
        """Somebody asks for results to be put back; the id of that."""
        self.look()
        by = self.caller(person)

        def work(session: Session) -> str:
            found = session.get_one(Snapshot, row.id)
            offer = self.reverts.offer(session, by, found, why)
            return self.reverts.ask(session, by, offer, self.clock.now(), saves=saves).id

        return self.do(work)

    def decides(self, row_id: str, person: str = CAROL, verdict: Verdict = Verdict.APPROVE) -> None:
        """Somebody says a word about it."""
        by = self.caller(person, APPROVALS)

        def work(session: Session) -> None:
            found = self.approvals.of(session, REVERT, row_id)
            assert found is not None
            self.approvals.vote(session, found.id, by, verdict, self.clock.now())

        self.do(work)

    def cancels(self, row_id: str, person: str = ALICE) -> None:
        """Somebody cancels it."""
        by = self.caller(person)

        def work(session: Session) -> None:
            self.reverts.cancel(session, by, session.get_one(Revert, row_id), self.clock.now())

        self.do(work)

    def revert(self, row_id: str) -> Revert:
        return self.do(lambda session: session.get_one(Revert, row_id))

    def fill(self, text: str) -> None:
        """Writes what results holds."""
        folder = self.world.programs.volume("team-a", RESULTS)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "labels.csv").write_text(text, encoding="utf-8")

    def runs(self, name: str) -> None:
        """A pod of Alice's run lane mounts results, with the labels and notes of its template."""
        body = {
            "metadata": {
                "name": name,
                "labels": {"quartermaster.dev/person": ALICE, "quartermaster.dev/run": name},
                "annotations": {"quartermaster.dev/name": "lane#2"},
            },
            "spec": {
                "containers": [{"name": "main", "image": "busybox"}],
                "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": RESULTS}}],
            },
        }
        self.world.create("pods", body, "team-a")
