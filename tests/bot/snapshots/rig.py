"""Snapshots on a database and on a whole cluster behind HTTP, which takes them in seconds."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from typing_extensions import override

from bot.cluster.resources import (
    PVCS,
    SNAPSHOT_CLASSES,
    SNAPSHOTS,
    STORAGE_CLASSES,
    VOLUMES,
    Resource,
)
from bot.cluster.view import Change
from bot.config import Settings
from bot.database.database import Database, Session
from bot.people.people import Person
from bot.reconcile import due
from bot.reconcile.controller import Controller
from bot.reconcile.frame import ControllerContext
from bot.reconcile.loop import Loop
from bot.slack.card import Card, Reply
from bot.slack.messages import Renderer
from bot.slack.text import as_text
from bot.snapshots.restores.card import RestoreRenderer
from bot.snapshots.restores.controller import RestoreController
from bot.snapshots.restores.service import RestoreRequest as Restoring
from bot.snapshots.restores.service import RestoreService
from bot.snapshots.schedules.card import ScheduleRenderer
from bot.snapshots.schedules.controller import ScheduleController
from bot.snapshots.schedules.service import ScheduleService
from bot.snapshots.snapshots.card import SnapshotRenderer
from bot.snapshots.snapshots.controller import SnapshotController
from bot.snapshots.snapshots.service import SnapshotRequest, SnapshotService
from bot.snapshots.tables import Restore, Snapshot
from bot.snapshots.watching import CHANGES
from playground.cluster.story import snapshot_class
from tests.bot.ground import ALICE, BOB, CAROL, ERIN, START, TEAM_A, TEAM_B, Ground, Outside
from tests.bot.training.rig import LIVE_TEAM


def custom(group: str, plural: str, kind: str) -> dict[str, Any]:
    """A CustomResourceDefinition of namespaced objects that may hold anything."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True}
    return {
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"plural": plural, "kind": kind, "singular": kind.lower()},
            "scope": "Namespaced",
            "versions": [version | {"schema": {"openAPIV3Schema": schema}}],
        },
    }


CLAIM = "imagenet"
CLAIMS, TAKEN = "persistentvolumeclaims", "volumesnapshots"
KINDS: tuple[Resource[Any], ...] = (PVCS, VOLUMES, STORAGE_CLASSES, SNAPSHOTS, SNAPSHOT_CLASSES)
SNAPSCHEDULER_CRD = custom("snapscheduler.backube", "snapshotschedules", "SnapshotSchedule")
SETTINGS = Settings.model_validate(
    {
        "workspace": "T0QM",
        "admins": {"people": [CAROL]},
        "teams": {
            "team-a": {"channels": [TEAM_A], **LIVE_TEAM},
            "team-b": {
                "channels": [TEAM_B],
                "leads": {"people": [BOB]},
                "namespace": "team-b",
                "local_queue": "team-b",
            },
        },
    }
)


class Rig(Ground):
    """Everything of snapshots, built as the composition root builds it; time moves by hand."""

    kinds = KINDS

    def __init__(self, database: Database, outside: Outside, folder: Path) -> None:
        super().__init__(database, outside, SETTINGS)
        self.world.programs.folder = folder
        self.world.install("snapshots")
        self.world.create("volumesnapshotclasses", snapshot_class())
        self.snapshots = SnapshotService(self.settings, self.clusters, self.words)
        self.restores = RestoreService(self.settings, self.clusters)
        self.scheduling = ScheduleService(self.settings, self.clusters, self.words)
        self._watch_handlers = [make(self.clusters) for make in CHANGES]
        self.restart()
        self.do(_introduce)
        self.write("monday")
        self.look()

    def restart(self) -> None:
        """A new process on the same database."""
        world = self.context
        self.taking, self.making = SnapshotController(world), RestoreController(world)
        self.schedules = ScheduleController(world)
        self.loop = Loop(self.database, self.clock, self.controllers(world))

    def controllers(self, world: ControllerContext) -> list[Controller]:
        """What keeps the rows."""
        del world
        return [self.taking, self.making, self.schedules]

    def renderers(self) -> tuple[Renderer, ...]:
        """What renders their cards."""
        return SnapshotRenderer(self.clock), RestoreRenderer(self.clock), ScheduleRenderer()

    def set(self, **snapshots: Any) -> None:
        """Other settings of snapshots."""
        self.policy = Settings.model_validate(SETTINGS.model_dump() | {"snapshots": snapshots})

    @override
    def look(self) -> None:
        """Has the view see the cluster as it is, and wakes what that concerns."""
        self.world.settle()
        changes = [change for resource in self.kinds for change in self.refresh(resource)]
        if changes:
            self.do(lambda session: self._hear(session, changes))

    def take(self, person: str = ALICE, channel: str = TEAM_A, **options: Any) -> str:
        """Somebody has a snapshot of imagenet taken; its id."""
        self.look()
        by, asked = self.caller(person, channel), SnapshotRequest(**({"claim": CLAIM} | options))
        return self.do(lambda s: self.snapshots.take(s, by, asked, self.clock.now()).id)

    def taken(self, **options: Any) -> Snapshot:
        """A snapshot that is ready."""
        row_id = self.take(**options)
        self.pass_time(seconds=10)
        return self.found(row_id)

    def restore(self, row: Snapshot, person: str = ALICE, **options: Any) -> str:
        """Somebody has it restored; the id of that."""
        self.look()
        by, asked = self.caller(person), Restoring(**options)

        def work(session: Session) -> str:
            found = session.get_one(Snapshot, row.id)
            return self.restores.restore(session, by, found, asked, self.clock.now()).id

        return self.do(work)

    def clone(self, claim: str = CLAIM, **options: Any) -> str:
        """Alice has a PVC cloned; the id of that."""
        self.look()
        by, asked = self.caller(), Restoring(**({"name": "mine"} | options))
        return self.do(lambda s: self.restores.clone(s, by, claim, asked, self.clock.now()).id)

    def delete(self, row: Snapshot, person: str = ALICE, channel: str = TEAM_A) -> None:
        """Somebody has it deleted."""
        by = self.caller(person, channel)
        self.with_row(row, lambda s, found: self.snapshots.delete(s, by, found, self.clock.now()))

    def with_row(self, row: Snapshot, work: Callable[[Session, Snapshot], object]) -> object:
        """Does something with a snapshot in a transaction."""
        return self.do(lambda session: work(session, session.get_one(Snapshot, row.id)))

    def found(self, row_id: str) -> Snapshot:
        return self.do(lambda session: session.get_one(Snapshot, row_id))

    def made(self, row_id: str) -> Restore:
        return self.do(lambda session: session.get_one(Restore, row_id))

    def card(self, row_id: str, channel: str = TEAM_A) -> str:
        """The card of a snapshot or a restore as text."""

        def work(session: Session) -> list[Card | None]:
            return [each.card(session, row_id, channel) for each in self.renderers()]

        (card,) = (each for each in self.do(work) if each is not None)
        return as_text(Reply(card=card))

    def objects(self, plural: str = TAKEN, namespace: str = "team-a") -> list[str]:
        """The names of what is in the cluster."""
        return [each["metadata"]["name"] for each in self.world.list(plural, namespace)]

    def claim(self, name: str) -> Any:
        """A PVC of team-a as the cluster has it."""
        return self.world.get(CLAIMS, name, "team-a")

    def write(self, text: str) -> None:
        """Writes what imagenet holds."""
        folder = self.world.programs.volume("team-a", CLAIM)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "labels.csv").write_text(text, encoding="utf-8")

    def read(self, claim: str) -> str:
        """What a PVC holds."""
        path = self.world.programs.volume("team-a", claim) / "labels.csv"
        return path.read_text(encoding="utf-8")

    def _hear(self, session: Session, changes: Sequence[Change]) -> None:
        for change in changes:
            for wakeup in (each for handler in self._watch_handlers for each in handler(change)):
                due.wake(session, *wakeup, self.clock.now())


def _introduce(session: Session) -> None:
    for user_id, name in {ALICE: "Alice", BOB: "Bob", CAROL: "Carol", ERIN: "Erin"}.items():
        session.add(
            Person(
                workspace_id="T0QM",
                user_id=user_id,
                name=name,
                is_guest=False,
                is_stranger=False,
                refreshed_at=START,
            )
        )
