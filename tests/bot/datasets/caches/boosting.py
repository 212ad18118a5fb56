"""Caches on volumes of the playground's Azure, which Trident makes; time moves by hand."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from sqlmodel import Session
from typing_extensions import override

from bot.approvals import ApprovalController, Approvals, Verdict
from bot.approvals.context import ApprovalContext
from bot.audit import Actor
from bot.cluster.resources import PVCS, VOLUMES
from bot.config import Settings
from bot.database.database import Database
from bot.datasets.caches.answers import CacheFound, CacheOffer
from bot.datasets.caches.evictions.marking import Mark, mark
from bot.datasets.caches.tables import Cache
from bot.reconcile import due
from bot.reconcile.controller import Controller, Step, Trouble
from bot.reconcile.loop import Loop
from bot.slack.card import Reply
from bot.slack.text import as_text
from bot.volumes.anf import NetAppFiles
from bot.volumes.changes.card import ChangeRenderer
from bot.volumes.changes.controller import VolumeChangeController
from bot.volumes.changes.service import ChangeService
from bot.volumes.changes.tables import CHANGE, VolumeChange
from bot.volumes.pools.controller import PoolController, look_at_pools
from playground.arm.estate import SUBSCRIPTION, Volume
from playground.arm.trident import CLASS, employ, storage_class
from tests.arm import Arm
from tests.bot.datasets.caches.filling import Filling, settings
from tests.bot.ground import BOB, CAROL, ERIN, TEAM_A, Outside

T = TypeVar("T")
APPROVE = "C0APPROVE"


class Died(BaseException):
    """The process is gone: nothing is written of the step that it was at."""


class Mortal:
    """A controller in a process that may die at a request."""

    def __init__(self, controller: Controller, is_dead: Callable[[], bool]) -> None:
        self.kind = controller.kind
        self._controller, self._is_dead = controller, is_dead

    def step(self, row_id: str, /) -> Step:
        """The step of the controller, of which nothing is known where the process died at it."""
        try:
            return self._controller.step(row_id)
        finally:
            if self._is_dead():
                raise Died

    def on_failure(self, session: Session, row_id: str, trouble: Trouble, /) -> None:
        self._controller.on_failure(session, row_id, trouble)


def settings_of(arm: Arm, **changes: Any) -> Settings:
    """Caching on a class of Trident's, with Azure at that address."""
    told = settings(classes={CLASS: {"throughput_mib_per_tib": 16}}, default_class=CLASS)
    more = {
        "playground": True,
        "approvals": {"channel": APPROVE, "anf_change": {"approvers": {"people": [CAROL, BOB]}}},
        "anf": {
            "subscription": SUBSCRIPTION,
            "endpoint": arm.url,
            "classes": {CLASS: ["tuned"]},
            "price_per_gib_month": {"Standard": 0.15, "Premium": 0.29},
            "changes": changes,
        },
    }
    return Settings.model_validate(told.model_dump(exclude_unset=True) | more)


class Boosting(Filling):
    """Trident makes volumes in pool tuned: 2 TiB of Premium with manual QoS, 131 MiB/s."""

    def __init__(self, database: Database, outside: Outside, arm: Arm) -> None:
        self.arm = arm
        self._is_dead = False
        self.deaths = 0
        self.files: NetAppFiles | None = None
        super().__init__(database, outside)
        arm.ledger.kill = self._die
        self.world.create("storageclasses", storage_class())
        employ(self.world, arm.estate, arm.tuned)
        self.has(settings_of(arm))

    def has(self, policy: Settings) -> None:
        """A configuration; Azure is looked at once."""
        self.policy = policy
        self.restart()
        self.look_at_azure()

    def look_at_azure(self) -> None:
        """The slot of the job, and its step."""
        self.view()
        self.do(lambda session: look_at_pools(self.policy, session, self.clock.now()))
        self.loop.run_due()

    @override
    def restart(self) -> None:
        """A new process on the same database."""
        super().restart()
        if self.files is not None:
            self.files.close()
        self.files = files = NetAppFiles(self.settings)
        approvals = Approvals(self.settings, self.access)
        self.approvals = approvals
        self.changes = ChangeService(files, self.clusters, self.database, approvals, self.clock)
        deciding = ApprovalContext(self.database, self.clock, self.access, approvals, _nobody_left)
        kept: list[Controller] = [
            self.controller,
            self.keeper,
            PoolController(self.clock, files, self.settings, self.clusters),
            VolumeChangeController(self.context, deciding, files),
            ApprovalController(self.database, self.clock, self.settings, approvals),
        ]
        self.do(due.free_all)
        self._is_dead = False
        mortal = [Mortal(each, lambda: self._is_dead) for each in kept]
        self.loop = Loop(self.database, self.clock, mortal)

    async def _die(self) -> None:
        self._is_dead = True
        self.deaths += 1

    @override
    def run(self) -> None:
        """As always; where the process died, another one goes on."""
        while True:
            try:
                super().run()
            except Died:
                self.restart()
            else:
                return

    @override
    def view(self) -> None:
        super().view()
        for resource in (PVCS, VOLUMES):
            self.refresh(resource)

    def boost(self, **more: Any) -> str:
        """Erin has chest-xray@v3 cached with a boost; the id of its row."""
        return self.begin(self.offer(**more), ERIN).cache.id

    def offer(self, **more: Any) -> CacheOffer | CacheFound:
        """Erin asks what that does."""
        return self.ask(ERIN, TEAM_A, is_boosted=True, **more)

    def change(self, cache_id: str) -> VolumeChange:
        """The change that boosts a cache."""
        boost_id = self.found(cache_id).boost_id
        assert boost_id is not None
        return self.do(lambda session: session.get_one(VolumeChange, boost_id))

    def volume(self) -> Volume | None:
        """The volume that Trident made for the only cache, while it is there."""
        found = [each for each in self.arm.estate.volumes if each.pool is self.arm.tuned]
        return found[0] if found else None

    def evict(self, cache_id: str) -> None:
        """Erin does not want it any more."""
        actor = Actor("T0QM", ERIN, TEAM_A, "team-a")

        def work(session: Session) -> None:
            cache = session.get_one(Cache, cache_id)
            mark(session, cache, Mark(actor, "nobody needs it."), self.clock.now())

        self.do(work)

    def vote(self, cache_id: str, verdict: Verdict = Verdict.APPROVE) -> None:
        """Carol decides."""
        row_id = self.change(cache_id).id

        def work(session: Session) -> None:
            approval = self.approvals.of(session, CHANGE, row_id)
            assert approval is not None
            by = self.access.caller(session, CAROL, APPROVE)
            self.approvals.vote(session, approval.id, by, verdict, self.clock.now())

        self.do(work)

    def boost_told(self, cache_id: str) -> str:
        """What the card of a cache says of its boost."""
        lines = self.shown(cache_id).splitlines()
        return next(each for each in lines if each.startswith("  Boost")).split(None, 1)[1]

    def change_card(self, cache_id: str) -> str:
        """The card of the change itself."""
        row_id = self.change(cache_id).id
        renderer = ChangeRenderer(self.settings, self.approvals)
        card = self.do(lambda session: renderer.card(session, row_id, TEAM_A))
        assert card is not None
        return as_text(Reply(card=card))

    def asked_of_azure(self) -> list[str]:
        """Every request with an effect that reached Azure, in order."""
        return [each.name for each in self.arm.ledger.requests if each.number is not None]

    def close(self) -> None:
        if self.files is not None:
            self.files.close()


def _nobody_left(_workspace: str, _users: Iterable[str], _groups: Iterable[str]) -> None:
    """Everybody is who they were."""
