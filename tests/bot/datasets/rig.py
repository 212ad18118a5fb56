"""Datasets on a database and on a whole cluster behind HTTP, whose worker only talks."""

import json
from datetime import datetime, timedelta
from typing import Any, TypeVar

from typing_extensions import override

from bot.cluster.resources import JOBS
from bot.cluster.view import Change
from bot.config import Settings, Store
from bot.database.database import Database, Session
from bot.datasets.card import VersionRenderer
from bot.datasets.service import DatasetService, NewDataset
from bot.datasets.tables import Dataset, Version
from bot.datasets.versions.controller import VersionController, survey_changes
from bot.people.people import Person
from bot.reconcile import due
from bot.reconcile.loop import Loop
from bot.slack.card import Reply
from bot.slack.text import as_text
from playground.cluster.control.training import Line, Training
from tests.bot.ground import ALICE, BOB, CAROL, ERIN, START, TEAM_A, TEAM_B, Ground, Outside
from tests.bot.training.rig import LIVE_TEAM

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
                "places": {"team-a": ["s3://lake/"]},
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


def with_places(settings: Settings, places: dict[str, list[str]], *shared: str) -> Settings:
    """The settings with other places of teams in store lake."""
    told = settings.stores["lake"].model_dump() | {"places": places, "shared": shared}
    stores = settings.stores | {"lake": Store.model_validate(told)}
    return settings.model_copy(update={"stores": stores})


class Rig(Ground):
    """Everything of datasets, built as the composition root builds it; time moves by hand."""

    def __init__(self, database: Database, outside: Outside) -> None:
        super().__init__(database, outside, SETTINGS)
        self.service = DatasetService(self.settings, self.words)
        self._watch_handler, self._known = survey_changes(self.clusters), dict[str, str]()
        self.restart()
        self.do(_introduce)
        self.world.create("namespaces", {"metadata": {"name": "datasets"}})
        for store in ("lake", "state"):
            secret = {"metadata": {"name": f"{store}-keys"}, "stringData": {"access-key-id": "a"}}
            self.world.create("secrets", secret, "datasets")
        self.finds(DIGEST)

    def restart(self) -> None:
        """A new process on the same database."""
        self.controller = VersionController(self.context)
        self.loop = Loop(self.database, self.clock, [self.controller])

    def finds(self, digest: str) -> None:
        """What the next surveys find, after 40 s of which they tell every 5."""
        self.says(DONE | {"digest": digest}, seconds=40)

    def says(
        self, last: dict[str, Any], *, seconds: float, code: int = 0, phase: str = "listing"
    ) -> None:
        """How the next surveys go: progress until so many seconds have passed, then this."""

        def log(_training: Training, started: datetime, until: datetime) -> list[Line]:
            passed = min(seconds, (until - started).total_seconds())
            steps = range(5, int(passed) + 1, 5)
            said = [(started + timedelta(seconds=n), _progress(n, phase)) for n in steps]
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

    @override
    def look(self) -> None:
        """Wakes whom changed Jobs concern, as a watch does."""
        self.world.settle()
        self.do(self._wake)

    def _wake(self, session: Session) -> None:
        for job in self.cluster.list(JOBS, "datasets"):
            if self._known.get(job.uid) != job.metadata.resource_version:
                self._known[job.uid] = job.metadata.resource_version
                for wakeup in self._watch_handler(Change("default", JOBS, "modified", job)):
                    due.wake(session, *wakeup, self.clock.now())

    def add(self, name: str = "chest-xray", **more: Any) -> Dataset:
        """Alice adds a dataset."""
        fields = {"source": f"s3://lake/{name}", **more}
        asked, by = NewDataset(name, **fields), self.caller()
        return self.do(lambda session: self.service.add(session, by, asked, self.clock.now()))

    def version(
        self,
        name: str | None = None,
        note: str = "",
        person: str = ALICE,
        channel: str = TEAM_A,
        *,
        has_copy: bool = False,
        cluster: str = "",
    ) -> str:
        """Somebody has a version of chest-xray recorded; its id."""
        by = self.caller(person, channel)

        def work(session: Session) -> str:
            dataset = self.service.find(session, by.team or "", "chest-xray")
            now = self.clock.now()
            row = self.service.version(
                session, by, dataset, name, note, now, has_copy=has_copy, cluster=cluster
            )
            return row.id

        return self.do(work)

    def get(self, version_id: str) -> Version:
        return self.do(lambda session: session.get_one(Version, version_id))

    def card(self, version_id: str) -> str:
        """The version's card as text."""
        card = self.do(
            lambda s: VersionRenderer(self.clock, self.settings).card(s, version_id, TEAM_A)
        )
        assert card is not None
        return as_text(Reply(card=card))

    def jobs(self) -> list[Any]:
        return self.world.list("jobs", "datasets")


def _progress(seconds: int, phase: str) -> str:
    knows = phase == "copying"
    told = {
        "event": "progress",
        "phase": phase,
        "files_done": seconds * 100,
        "files_total": 4_000 if knows else None,
    }
    total = 40_000_000 if knows else None
    return json.dumps(told | {"bytes_done": seconds * 1_000_000, "bytes_total": total})


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
