"""Runs whose ends are kept by snapshots, with the controllers of both on one cluster."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from typing_extensions import override

from bot.cluster.view import Change
from bot.config import Settings
from bot.database.database import Database, Session
from bot.reconcile.loop import Loop
from bot.reconcile.wakeups import Wakeup
from bot.slack.grammar.container_parameters import VolumeMount
from bot.slack.grammar.parameters import Reference
from bot.snapshots import finding
from bot.snapshots.restores.controller import RestoreController
from bot.snapshots.snapshots.controller import SnapshotController
from bot.snapshots.snapshots.service import SnapshotService
from bot.snapshots.tables import Restore, Snapshot
from bot.snapshots.watching import CHANGES
from playground.cluster.story import snapshot_class
from tests.bot.ground import ALICE, Outside
from tests.bot.training.rig import Rig

CLAIMS, TAKEN = "persistentvolumeclaims", "volumesnapshots"
MOUNTS = (VolumeMount("imagenet", "/data", read_only=False),)


class SnapshotRig(Rig):
    """Training and snapshots; team-a has a PVC imagenet, of which snapshots take 5 s."""

    def __init__(
        self, database: Database, outside: Outside, policy: Settings, folder: Path
    ) -> None:
        outside.cluster.programs.folder = folder
        outside.cluster.install("snapshots")
        outside.cluster.create("volumesnapshotclasses", snapshot_class())
        super().__init__(database, outside, policy)

    @override
    def restart(self) -> None:
        super().restart()
        world = self.context
        self.taking, self.making = SnapshotController(world), RestoreController(world)
        self.loop = Loop(self.database, self.clock, [self.controller, self.taking, self.making])

    @override
    def on_change(self, change: Change) -> Iterable[Wakeup]:
        known = (each for make in CHANGES for each in make(self.clusters)(change))
        return (*super().on_change(change), *known)

    def train(self, name: str = "lane", **more: Any) -> str:
        """Alice submits a run that keeps the state of imagenet; its id."""
        return self.submit(name, **({"pvc": MOUNTS, "snapshot": "imagenet"} | more))

    def start_on(self, name: str = "lane", snapshot: str = "", person: str = ALICE) -> str:
        """Somebody starts a run again from a snapshot; the id of the new one."""
        self.look()
        by = self.caller(person)

        def work(session: Session) -> str:
            run = self.service.find(session, "team-a", Reference(name))
            return self.service.restart(session, by, run, snapshot, self.clock.now()).run_id

        return self.do(work)

    def made(self, run_id: str) -> Restore:
        """The PVC that is made for a run."""
        found = self.do(lambda session: finding.for_run(session, run_id))
        assert found is not None
        return found

    def fact(self, run_id: str, name: str = "Snapshot") -> str:
        """What the run's card says under a heading."""
        lines = [each.strip() for each in self.card(run_id).splitlines()]
        found = (each for each in lines if each.startswith(f"{name} "))
        return next(found, name).removeprefix(name).strip()

    def details(self, session: Session, row: Snapshot) -> Any:
        """What `/snapshot show` shows of a snapshot."""
        service = SnapshotService(self.settings, self.clusters, self.words)
        return service.details(session, row, self.clock.now())

    def kept(self, run_id: str) -> Snapshot:
        """The snapshot of the end of a run."""
        found = self.do(lambda session: finding.of_run(session, run_id))
        assert found is not None
        return found

    def is_kept(self, run_id: str) -> bool:
        """Whether there is any."""
        return self.do(lambda session: finding.of_run(session, run_id)) is not None

    def objects(self, plural: str = TAKEN) -> list[str]:
        """The names of what is in the team's namespace."""
        return [each["metadata"]["name"] for each in self.world.list(plural, "team-a")]

    def write(self, text: str, claim: str = "imagenet") -> None:
        """Writes what a PVC holds."""
        folder = self.world.programs.volume("team-a", claim)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "labels.csv").write_text(text, encoding="utf-8")

    def read(self, claim: str) -> str:
        """What a PVC holds."""
        path = self.world.programs.volume("team-a", claim) / "labels.csv"
        return path.read_text(encoding="utf-8")
