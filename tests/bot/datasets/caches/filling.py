"""Caches on a database and on a whole cluster behind HTTP, whose worker only talks."""

import json
from datetime import datetime, timedelta
from typing import Any

from typing_extensions import override

from bot.cluster.resources import ALLOWANCES, JOBS, PVCS, STORAGE_CLASSES, Resource
from bot.cluster.types.allowances import Allowance
from bot.cluster.view import Change
from bot.config import Settings
from bot.database.database import Database, Session
from bot.datasets.caches.answers import CacheFound, CacheOffer
from bot.datasets.caches.card import CacheRenderer
from bot.datasets.caches.controller import CacheController, cache_changes
from bot.datasets.caches.plan import CacheRequest
from bot.datasets.caches.service import CacheService
from bot.datasets.caches.tables import Cache
from bot.datasets.finding import Reference
from bot.datasets.versions.controller import VersionController
from bot.reconcile import due
from bot.reconcile.loop import Loop
from bot.slack.card import Reply
from bot.slack.text import as_text
from playground.cluster.control.training import Line, Training
from tests.bot.datasets.caches.rows import DIGEST, SIZE, add_dataset, add_version
from tests.bot.datasets.rig import IMAGE, SETTINGS, Rig
from tests.bot.ground import ALICE, TEAM_A, Outside

OBJECTS = 627_615
CLASSES: dict[str, Any] = {
    "classes": {"standard": {"throughput_mib_per_tib": 16}, "spare": {"budget": "1Ti"}},
    "default_class": "standard",
    "layouts": {"imagenet": {"command": ["sh", "/layouts/imagenet.sh"]}},
}
DONE = {
    "event": "done",
    "phase": "finishing",
    "digest": DIGEST,
    "objects": OBJECTS,
    "bytes": SIZE,
    "seconds": 40.0,
    "copied_files": OBJECTS,
    "copied_bytes": SIZE,
    "verified_by": {"md5": 600_000, "size": 27_615},
    "verified_bytes": {"md5": 240_000_000_000, "size": 10_000_000_000},
    "ready": True,
    "engine": "obstore",
}


def settings(**more: Any) -> Settings:
    """What is configured, with caching."""
    told = SETTINGS.model_dump(exclude_unset=True)
    told["datasets"] |= CLASSES | more
    return Settings.model_validate(told)


class Filling(Rig):
    """Everything that fills caches, built as the composition root builds it."""

    doing = "copying"

    def __init__(self, database: Database, outside: Outside) -> None:
        super().__init__(database, outside)
        self.policy = settings()
        self.allowances: list[Allowance] = []
        self.caches = CacheService(self.settings, self.clusters, self.words)
        self._hears, self._heard = cache_changes(self.clusters), dict[str, str]()
        self._seen: dict[str, object] = {}
        self.restart()
        self.do(self._catalogue)
        self.others = self.world.list("persistentvolumes")
        self.fills()

    @override
    def restart(self) -> None:
        world = self.context
        self.controller = VersionController(world)
        self.keeper = CacheController(world)
        self.loop = Loop(self.database, self.clock, [self.controller, self.keeper])

    def fills(
        self,
        *,
        seconds: float = 40,
        last: dict[str, Any] = DONE,
        code: int = 0,
        stalls_after: float = 36_000,
    ) -> None:
        """How the next fills go: progress until so many seconds have passed, then this."""

        def log(_training: Training, started: datetime, until: datetime) -> list[Line]:
            passed = min(seconds, (until - started).total_seconds())
            steps = range(5, int(min(passed, stalls_after)) + 1, 5)
            said = [
                (started + timedelta(seconds=n), _progress(n / seconds, self.doing)) for n in steps
            ]
            if passed >= seconds:
                said.append((started + timedelta(seconds=seconds), json.dumps(last)))
            return [(started, "2026-11-21 12:00:00 copying"), *said]

        self.world.behaviours[IMAGE] = Training(
            epochs=1,
            seconds_per_epoch=seconds - 4,
            log=log,
            fails_after=seconds if code else None,
            exit_code=code,
        )

    def leap(self, **length: float) -> None:
        """So much time passes at once."""
        self.outside.clock.moment += timedelta(**length)
        self.pass_time(seconds=1)

    def retain(self, storage_class: str) -> None:
        """Volumes of a class stay when nobody needs them any more."""
        found = self.world.list("storageclasses")
        body = next(each for each in found if each["metadata"]["name"] == storage_class)
        self.world.delete("storageclasses", storage_class)
        kept = {key: body[key] for key in ("provisioner", "parameters", "volumeBindingMode")}
        metadata = {"name": storage_class}
        self.world.create(
            "storageclasses", {"metadata": metadata, "reclaimPolicy": "Retain", **kept}
        )

    @override
    def look(self) -> None:
        super().look()
        self.view()
        self.do(self._hear)

    def view(self) -> None:
        """Takes what a plan looks at into the view, as watches do."""
        view = self.cluster.view
        self.refresh(STORAGE_CLASSES)
        view.store(ALLOWANCES).replace(self.allowances)

    def ask(
        self, person: str = ALICE, channel: str = TEAM_A, **more: Any
    ) -> CacheOffer | CacheFound:
        """Somebody asks what caching chest-xray@v3 costs."""
        self.view()
        by = self.caller(person, channel)
        options = CacheRequest(**({"reference": Reference("chest-xray", "v3")} | more))
        answer = self.do(lambda session: self.caches.ask(session, by, options, self.clock.now()))
        assert isinstance(answer, CacheOffer | CacheFound)
        return answer

    def begin(
        self, offer: CacheOffer | CacheFound, person: str = ALICE, channel: str = TEAM_A
    ) -> CacheFound:
        """Somebody confirms."""
        assert isinstance(offer, CacheOffer)
        by, plan = self.caller(person, channel), offer.plan
        return self.do(lambda session: self.caches.begin(session, by, plan, self.clock.now()))

    def cache(self, **more: Any) -> str:
        """Alice has chest-xray@v3 cached; the id of its row."""
        return self.begin(self.ask(**more)).cache.id

    def found(self, cache_id: str) -> Cache:
        return self.do(lambda session: session.get_one(Cache, cache_id))

    def shown(self, cache_id: str) -> str:
        """The cache's card as text."""
        card = self.do(lambda s: CacheRenderer(self.clock).card(s, cache_id, TEAM_A))
        assert card is not None
        return as_text(Reply(card=card))

    def claims(self) -> list[Any]:
        return self.world.list("persistentvolumeclaims", "datasets")

    def _catalogue(self, session: Session) -> None:
        add_version(session, add_dataset(session, readers=["team-b"]))

    def _hear(self, session: Session) -> None:
        kinds: tuple[Resource[Any], ...] = (JOBS, PVCS)
        for resource in kinds:
            state = self.state_of(resource)
            if self._seen.get(resource.plural) == state:
                continue
            self._seen[resource.plural] = state
            for each in self.cluster.list(resource, "datasets"):
                if self._heard.get(each.uid) != each.metadata.resource_version:
                    self._heard[each.uid] = each.metadata.resource_version
                    for wakeup in self._hears(Change("default", resource, "modified", each)):
                        due.wake(session, *wakeup, self.clock.now())


def _progress(part: float, doing: str) -> str:
    told = {"event": "progress", "phase": doing, "files_done": int(OBJECTS * part)}
    return json.dumps(told | {"bytes_done": int(SIZE * part), "bytes_per_second": SIZE / 40})
