"""Datasets on a database and on a whole cluster behind HTTP, whose worker only talks."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar

from sqlmodel import col, select

from bot import due
from bot.access import Access, Caller
from bot.cluster.cluster import Cluster
from bot.cluster.connection import Connection
from bot.cluster.resources import JOBS
from bot.cluster.view import Change
from bot.config import Settings
from bot.controller import Loop
from bot.database.database import Database, Session
from bot.datasets.controller import VersionController, World
from bot.datasets.renderer import VersionRenderer
from bot.datasets.service import DatasetService, NewDataset
from bot.datasets.tables import Dataset, Version
from bot.datasets.watching import SurveyEar
from bot.people import Person
from bot.slack.card import Reply
from bot.slack.messages import Message
from bot.slack.text import as_text
from playground.cluster.control.training import Line, Training
from tests.bot.cluster.conftest import PATIENT
from tests.bot.training.rig import (
    ALICE,
    BOB,
    CAROL,
    ERIN,
    INSTALLATION,
    LIVE_TEAM,
    START,
    TEAM_A,
    TEAM_B,
    Outside,
    SameClock,
)

T = TypeVar("T")

IMAGE = "ghcr.io/acme/quartermaster:0.1.0"
DIGEST, OTHER_DIGEST = "sha256:" + 64 * "a", "sha256:" + 64 * "b"
DONE = {"event": "done", "phase": "listing", "objects": 3, "bytes": 2_500_000, "seconds": 4.0}
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
        "stores": {
            "lake": {
                "endpoint": "https://grid.example.com:8082",
                "path_style": True,
                "ca_file": "/etc/grid.crt",
                "secret": "lake-keys",
                "teams": ["team-a"],
            },
            "state": {"secret": "state-keys"},
        },
        "datasets": {
            "namespace": "datasets",
            "image": IMAGE,
            "state": "s3://qm-state/prod",
            "state_store": "state",
        },
    }
)


class Rig:
    """Everything of datasets, built as the composition root builds it; time moves by hand."""

    def __init__(self, database: Database, outside: Outside) -> None:
        self.database = database
        self.outside = outside
        self.world = outside.cluster
        self.policy = SETTINGS
        self.clock = SameClock(outside.clock)
        connection = Connection.to(str(outside.kubeconfig), timeouts=PATIENT)
        self.cluster = Cluster("default", connection, INSTALLATION)
        self.access = Access(self.settings)
        self.service = DatasetService(self.settings, self.words)
        self._ear, self._known = SurveyEar({"default": self.cluster}), dict[str, str]()
        self.restart()
        self.do(_introduce)
        self.world.create("namespaces", {"metadata": {"name": "datasets"}})
        for store in ("lake", "state"):
            secret = {"metadata": {"name": f"{store}-keys"}, "stringData": {"access-key-id": "a"}}
            self.world.create("secrets", secret, "datasets")
        self.finds(DIGEST)

    def settings(self) -> Settings:
        return self.policy

    def words(self, text: str) -> str:
        return f"/{text}"

    def restart(self) -> None:
        """A new process on the same database."""
        parts = (self.database, self.clock, self.settings, {"default": self.cluster}, self.words)
        self.controller = VersionController(World(*parts))
        self.loop = Loop(self.database, self.clock, [self.controller])

    def finds(self, digest: str) -> None:
        """What the next surveys find, after 40 s of which they tell every 5."""
        self.says(DONE | {"digest": digest}, seconds=40)

    def says(self, last: dict[str, Any], *, seconds: float, code: int = 0) -> None:
        """How the next surveys go: progress until so many seconds have passed, then this."""

        def log(_training: Training, started: datetime, until: datetime) -> list[Line]:
            passed = min(seconds, (until - started).total_seconds())
            steps = range(5, int(passed) + 1, 5)
            said = [(started + timedelta(seconds=n), _progress(n)) for n in steps]
            if passed >= seconds:
                said.append((started + timedelta(seconds=seconds), json.dumps(last)))
            return [(started, "2026-11-21 12:00:00 reading the bucket"), *said]

        self.world.behaviours[IMAGE] = Training(
            epochs=1,
            seconds_per_epoch=seconds - 4,
            log=log,
            fails_after=seconds if code else None,
            exit_code=code,
        )

    def do(self, work: Callable[[Session], T]) -> T:
        return self.database.transaction(work)

    def run(self) -> None:
        """Takes every step that is due now, and what follows from it at once."""
        for _ in range(50):
            self.world.settle()
            self.do(self._wake)
            if not self.loop.run_due():
                return
        raise AssertionError("the rows do not come to rest")

    def _wake(self, session: Session) -> None:
        """Wakes whom changed Jobs concern, as a watch does."""
        for job in self.cluster.list(JOBS, "datasets"):
            if self._known.get(job.uid) != job.metadata.resource_version:
                self._known[job.uid] = job.metadata.resource_version
                for wakeup in self._ear(Change("default", JOBS, "modified", job)):
                    due.wake(session, *wakeup, self.clock.now())

    def pass_time(self, **length: float) -> None:
        """Moves from one due time to the next, as a playground does."""
        end = self.outside.clock.moment + timedelta(**length)
        while True:
            self.run()
            nearest = self.do(lambda session: due.earliest(session, self.loop.kinds))
            coming = [each for each in (nearest, self.world.next_event()) if each is not None]
            moment = min([*coming, end])
            self.outside.clock.moment = max(self.outside.clock.moment, moment)
            if moment >= end:
                self.run()
                return

    def caller(self, person: str = ALICE, channel: str = TEAM_A) -> Caller:
        return self.do(lambda session: self.access.caller(session, person, channel))

    def add(self, name: str = "chest-xray", **more: Any) -> Dataset:
        """Alice adds a dataset."""
        fields = {"source": f"s3://lake/{name}", **more}
        asked, by = NewDataset(name, **fields), self.caller()
        return self.do(lambda session: self.service.add(session, by, asked, self.clock.now()))

    def version(
        self, name: str | None = None, note: str = "", person: str = ALICE, channel: str = TEAM_A
    ) -> str:
        """Somebody has a version of chest-xray recorded; its id."""
        by = self.caller(person, channel)

        def work(session: Session) -> str:
            dataset = self.service.find(session, by.team or "", "chest-xray")
            return self.service.version(session, by, (dataset, name, note), self.clock.now()).id

        return self.do(work)

    def get(self, version_id: str) -> Version:
        return self.do(lambda session: session.get_one(Version, version_id))

    def card(self, version_id: str) -> str:
        """The version's card as text."""
        card = self.do(lambda s: VersionRenderer(self.clock).card(s, version_id, TEAM_A))
        assert card is not None
        return as_text(Reply(card=card))

    def notes(self, subject_id: str) -> dict[str, str]:
        """What was said once about a version, by purpose."""
        rows = self.do(
            lambda session: session.scalars(
                select(Message)
                .where(col(Message.subject_id) == subject_id, col(Message.purpose) != "card")
                .order_by(col(Message.id))
            ).all()
        )
        return {row.purpose: "\n".join(row.content or ()) for row in rows}

    def effects(self) -> list[str]:
        """Every request with an effect that reached the cluster, in order."""
        return [each.name for each in self.outside.ledger.requests if each.number is not None]

    def jobs(self) -> list[Any]:
        return self.world.list("jobs", "datasets")


def _progress(seconds: int) -> str:
    told = {
        "event": "progress",
        "phase": "listing",
        "files_done": seconds * 100,
        "files_total": None,
    }
    return json.dumps(told | {"bytes_done": seconds * 1_000_000, "bytes_total": None})


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
