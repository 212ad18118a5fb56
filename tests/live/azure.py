"""A volume of Azure NetApp Files that tests may change, and the bot's own parts that change it.

In the playground time moves by hand; in Azure itself it takes its time.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event
from typing import NamedTuple, TypeVar

from sqlmodel import Session
from typing_extensions import override

from bot.approvals import Approvals
from bot.approvals.context import ApprovalContext
from bot.clock import Clock
from bot.cluster.api.connection import Connection
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PVCS, VOLUMES
from bot.cluster.types.claims import (
    ClaimReference,
    ClaimSpec,
    NfsSource,
    PersistentVolume,
    PersistentVolumeClaim,
    VolumeSpec,
)
from bot.cluster.types.objects import ObjectMeta
from bot.config import Settings
from bot.database.database import Database
from bot.people.access import Access
from bot.reconcile.frame import ControllerContext
from bot.reconcile.loop import Loop
from bot.volumes.anf import NetAppFiles
from bot.volumes.changes.controller import VolumeChangeController
from bot.volumes.changes.service import ChangeButton, ChangeService
from bot.volumes.changes.tables import ChangePhase, VolumeChange
from bot.volumes.matching import Claimed, named_by
from bot.volumes.operations import Operations
from bot.volumes.resources import AnfVolume, Pool, PoolPlace, VolumePlace, is_settled
from tests.bot.quotas.people import START, TEAM_A, meet
from tests.bot.volumes.pools.test_reads import KUBECONFIG

T = TypeVar("T")
LEAD, CLAIM, PATIENCE = "U0ALICE", "live", timedelta(minutes=40)
_LOOK_SECONDS = 5.0


class Place(NamedTuple):
    """What may be changed: a volume, the pool it is in, and one of a lower level."""

    subscription: str
    group: str
    account: str
    pool: str
    volume: str
    lower_pool: str


class Watch(Clock):
    """A clock that somebody waits by: the real one, unless time moves by hand."""

    def __init__(self, *, by_hand: bool) -> None:
        super().__init__()
        self._moment = START if by_hand else None

    @override
    def now(self) -> datetime:
        return self._moment or super().now()

    def wait(self) -> None:
        """Lets some seconds pass."""
        if self._moment is None:
            Event().wait(_LOOK_SECONDS)
        else:
            self._moment += timedelta(seconds=_LOOK_SECONDS)


class Live:
    """The parts of the bot that change volumes, on one volume with a PV written by hand."""

    def __init__(self, at: Place, settings: Settings, database: Database, clock: Watch) -> None:
        self.at, self.clock, self._database = at, clock, database
        self.files = NetAppFiles(lambda: settings)
        self.place = VolumePlace(at.subscription, at.group, at.account, at.pool, at.volume)
        access = Access(lambda: settings)
        approvals = Approvals(lambda: settings, access)
        self._access, self._settings = access, settings
        self._approvals = approvals

    def begins(self, folder: Path) -> None:
        """Has the bot see the volume as one of a PVC's."""
        path = folder / "kubeconfig"
        path.write_text(KUBECONFIG)
        cluster = Cluster("default", Connection.to(str(path)), "0123")
        clusters = {"default": cluster}
        self._of = _claimed(self.volume)
        cluster.view.store(VOLUMES).replace([self._of.volume])
        cluster.view.store(PVCS).replace([self._of.claim])
        self._service = ChangeService(
            self.files, clusters, self._database, self._approvals, self.clock
        )
        deciding = ApprovalContext(
            self._database, self.clock, self._access, self._approvals, _nobody
        )
        context = ControllerContext(
            self._database, self.clock, lambda: self._settings, clusters, lambda text: f"/{text}"
        )
        controller = VolumeChangeController(context, deciding, self.files)
        self._loop = Loop(self._database, self.clock, [controller])
        self._do(meet)

    @property
    def volume(self) -> AnfVolume:
        """The volume as Azure has it, in whichever of the two pools it is."""
        for pool in (self.at.pool, self.at.lower_pool):
            found = self.files.volume(self.place._replace(pool=pool))
            if found is not None:
                return found
        raise LookupError(f"there is no volume {self.at.volume} in pool {self.at.pool}")

    @property
    def lower(self) -> Pool:
        """The pool of a lower level."""
        found = self.files.pool(
            PoolPlace(self.at.subscription, self.at.group, self.at.account, self.at.lower_pool)
        )
        assert found is not None, f"there is no pool {self.at.lower_pool}"
        return found

    def change(self, asked: ChangeButton) -> str:
        """Has a change in force for a while; the id of its row."""
        row_id = self.begin(asked)
        self.until(row_id, lambda row: row.phase == ChangePhase.HELD)
        return row_id

    def begin(self, asked: ChangeButton) -> str:
        """Asks for a change; the id of its row. No pool may grow for it."""
        plan = self._service.plan(asked, self._of)[0]
        assert plan.growth_bytes == 0, "a pool would have to grow for this: give it room"

        def work(session: Session) -> str:
            by = self._access.caller(session, LEAD, TEAM_A)
            return self._service.begin(session, by, asked, self._of, self.clock.now()).id

        return self._do(work)

    def until(self, row_id: str, holds: Callable[[VolumeChange], bool]) -> None:
        """Takes the steps of a change until it has come so far."""

        def is_there() -> bool:
            self._loop.run_due()
            row = self._do(lambda session: session.get_one(VolumeChange, row_id))
            assert row.is_live or holds(row), f"{row.phase}: {row.outcome} {row.trouble}"
            return holds(row)

        self._wait_for(is_there)

    def give_back(self, row_id: str) -> None:
        """Has it put back now."""

        def work(session: Session) -> None:
            by = self._access.caller(session, LEAD, TEAM_A)
            row = self._service.get(session, row_id)
            self._service.give_back(session, by, row, self.clock.now())

        self._do(work)
        self.until(row_id, lambda row: row.phase == ChangePhase.RETURNED)

    def later(self, length: timedelta) -> None:
        """Lets time pass."""
        end = self.clock.now() + length
        self._wait_for(lambda: self.clock.now() >= end)

    @contextmanager
    def leaves_it_as_it_is(self) -> Iterator[AnfVolume]:
        """Brings the volume to its pool and throughput of before, whatever happens meanwhile."""
        before = self.volume
        pool = self.files.pool(PoolPlace(*before.place[:4]))
        assert pool is not None
        try:
            yield before
        finally:
            self._wait_for(self._is_at_rest)
            self._move_back(before, pool.id)
            mibps = before.throughput_mibps
            if pool.qos == "Manual" and mibps and self.volume.throughput_mibps != mibps:
                Operations(self.files).set_throughput(before.place, mibps)
                self._wait_for(lambda: self.volume.throughput_mibps == mibps)

    def _is_at_rest(self) -> bool:
        """Whether Azure has ended what was begun; between two pools it may show no volume."""
        try:
            return is_settled(self.volume)
        except LookupError:
            return False

    def _move_back(self, before: AnfVolume, pool_id: str) -> None:
        there = self.volume
        if there.place.pool.lower() != before.place.pool.lower():
            Operations(self.files).move(there.place, pool_id)
            self._wait_for(lambda: self.volume.place.pool.lower() == before.place.pool.lower())

    def _wait_for(self, holds: Callable[[], bool]) -> None:
        end = self.clock.now() + PATIENCE
        while not holds():
            assert self.clock.now() < end, f"it did not come about within {PATIENCE}"
            self.clock.wait()

    def _do(self, work: Callable[[Session], T]) -> T:
        return self._database.transaction(work)


def settings_of(at: Place, endpoint: str = "") -> Settings:
    """The configuration of a bot that may change volumes of one account."""
    whole = {
        "workspace": "T0QM",
        "playground": bool(endpoint),
        "teams": {
            "team-a": {
                "channels": [TEAM_A],
                "leads": {"people": [LEAD]},
                "namespace": "team-a",
                "local_queue": "team-a",
            }
        },
        "anf": {
            "subscription": at.subscription,
            "accounts": [f"{at.group}/{at.account}"],
            "changes": {},
            **({"endpoint": endpoint} if endpoint else {}),
        },
    }
    return Settings.model_validate(whole)


@contextmanager
def opened(
    at: Place, settings: Settings, database: Database, clock: Watch, folder: Path
) -> Iterator[Live]:
    """The bot's parts, closed at the end."""
    live = Live(at, settings, database, clock)
    with closing(live.files):
        live.begins(folder)
        yield live


def _claimed(volume: AnfVolume) -> Claimed:
    """A PVC on the volume, whose PV somebody wrote by hand."""
    owner = ClaimReference(namespace="team-a", name=CLAIM, uid="uid-live")
    nfs = NfsSource(server=volume.addresses[0], path=f"/{volume.path}")
    pv = PersistentVolume(
        metadata=ObjectMeta(name="pv-live"), spec=VolumeSpec(nfs=nfs, claim_ref=owner)
    )
    metadata = ObjectMeta(name=CLAIM, namespace="team-a", uid="uid-live")
    claim = PersistentVolumeClaim(metadata=metadata, spec=ClaimSpec(volume_name="pv-live"))
    named = named_by(pv)
    assert named is not None
    return Claimed(claim, pv, named)


def _nobody(_workspace: str, _users: Iterable[str], _groups: Iterable[str], /) -> None:
    """Nobody has to be asked about anew."""
