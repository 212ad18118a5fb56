"""Changes of volumes on a database and on the playground's Resource Manager; time moves by hand."""

from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from msgspec import structs
from sqlmodel import Session, col, select

from bot.approvals import ApprovalController, Approvals, Verdict
from bot.approvals.context import ApprovalContext
from bot.cluster.api.connection import Connection
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PVCS, VOLUMES
from bot.cluster.types.claims import (
    TRIDENT,
    ClaimReference,
    ClaimSpec,
    CsiSource,
    NfsSource,
    PersistentVolume,
    PersistentVolumeClaim,
    VolumeSpec,
)
from bot.cluster.types.objects import ObjectMeta
from bot.config import Settings
from bot.database.database import Database
from bot.people.access import Access
from bot.people.people import Person
from bot.reconcile import due
from bot.reconcile.frame import ControllerContext
from bot.reconcile.loop import Loop
from bot.slack.card import Card
from bot.slack.messages import Message
from bot.slack.text import as_text
from bot.volumes.anf import NetAppFiles
from bot.volumes.changes.card import ChangeRenderer
from bot.volumes.changes.controller import VolumeChangeController
from bot.volumes.changes.plan import ChangePlan
from bot.volumes.changes.replies import question
from bot.volumes.changes.service import ChangeButton, ChangeService
from bot.volumes.changes.tables import CHANGE, ChangeKind, VolumeChange
from bot.volumes.matching import Claimed, named_by
from playground.arm.estate import GIB, SUBSCRIPTION, TIB, Pool, Volume
from tests.arm import Arm
from tests.bot.quotas.people import FrozenClock
from tests.bot.volumes.pools.test_reads import KUBECONFIG

T = TypeVar("T")
ERIN, CAROL, ALICE, BOB = "U0ERIN", "U0CAROL", "U0ALICE", "U0BOB"
TEAM_A, APPROVE = "C0TEAMA", "C0APPROVE"
PRICES = {"Standard": 0.15, "Premium": 0.29, "Ultra": 0.39}


def settings_of(arm: Arm, **changes: Any) -> Settings:
    team = {"leads": {"people": [ERIN, BOB]}, "members": {"people": [ALICE]}}
    return Settings.model_validate(
        {
            "workspace": "T0QM",
            "playground": True,
            "admins": {"people": [CAROL]},
            "teams": {
                "team-a": {
                    "channels": [TEAM_A],
                    "namespace": "team-a",
                    "local_queue": "team-a",
                    **team,
                }
            },
            "approvals": {
                "channel": APPROVE,
                "anf_change": {"approvers": {"people": [CAROL, BOB]}},
            },
            "anf": {
                "subscription": SUBSCRIPTION,
                "endpoint": arm.url,
                "price_per_gib_month": PRICES,
                "changes": changes,
            },
        }
    )


class Rig:
    """Everything of changes, built as the composition root builds it."""

    def __init__(self, database: Database, arm: Arm, clock: FrozenClock, folder: Path) -> None:
        self.database, self.arm, self.clock = database, arm, clock
        self.policy = settings_of(arm)
        path = folder / "kubeconfig"
        path.write_text(KUBECONFIG)
        self.cluster = Cluster("default", Connection.to(str(path)), "0123")
        self.clusters = {"default": self.cluster}
        self.access = Access(self.settings)
        self.approvals = Approvals(self.settings, self.access)
        self.gone: set[str] = set()
        self._pvs: list[PersistentVolume] = []
        self._claims: list[PersistentVolumeClaim] = []
        self.files = NetAppFiles(self.settings)
        self.do(_introduce)
        self.restart()

    def settings(self) -> Settings:
        return self.policy

    def restart(self) -> None:
        """A new process on the same database."""
        self.files.close()
        self.files = NetAppFiles(self.settings)
        self.service = ChangeService(
            self.files, self.clusters, self.database, self.approvals, self.clock
        )
        self.renderer = ChangeRenderer(self.settings, self.approvals)
        self.loop = self.process(self.files)

    def process(self, files: NetAppFiles) -> Loop:
        """What a process keeps, of which there may be several."""
        deciding = ApprovalContext(
            self.database, self.clock, self.access, self.approvals, self.slack_tells
        )
        context = ControllerContext(
            self.database, self.clock, self.settings, self.clusters, lambda text: f"/{text}"
        )
        return Loop(
            self.database,
            self.clock,
            [
                VolumeChangeController(context, deciding, files),
                ApprovalController(self.database, self.clock, self.settings, self.approvals),
            ],
        )

    def slack_tells(self, _workspace: str, users: Iterable[str], _groups: Iterable[str]) -> None:
        """What Slack answers when it is asked about approvers before the act."""
        gone = self.gone & set(users)
        self.do(lambda session: _leave(session, gone))

    def do(self, work: Callable[[Session], T]) -> T:
        return self.database.transaction(work)

    def volume(self, name: str, pool: Pool, gibibytes: int = 1024) -> Volume:
        """A volume with a PV that somebody wrote by hand, and its PVC in team-a."""
        made = self.arm.estate.add_volume(pool, name, gibibytes * GIB)
        made.address = f"10.0.2.{len(self.arm.estate.volumes)}"
        self._see(name, VolumeSpec(nfs=NfsSource(server=made.address, path=f"/{made.path}")))
        return made

    def of_trident(self, name: str, pool: Pool) -> Volume:
        """A volume that Trident made."""
        made = self.arm.estate.add_volume(pool, name, TIB)
        told = {"internalID": self.arm.estate.volume_id(made), "internalName": made.path}
        self._see(name, VolumeSpec(csi=CsiSource(driver=TRIDENT, volume_attributes=told)))
        return made

    def _see(self, name: str, spec: VolumeSpec) -> None:
        owner = ClaimReference(namespace="team-a", name=name, uid=f"uid-{name}")
        there = VolumeSpec(csi=spec.csi, nfs=spec.nfs, claim_ref=owner)
        metadata = ObjectMeta(name=name, namespace="team-a", uid=f"uid-{name}")
        self._pvs.append(PersistentVolume(metadata=ObjectMeta(name=f"pv-{name}"), spec=there))
        self._claims.append(
            PersistentVolumeClaim(metadata=metadata, spec=ClaimSpec(volume_name=f"pv-{name}"))
        )
        self.cluster.view.store(VOLUMES).replace(self._pvs)
        self.cluster.view.store(PVCS).replace(self._claims)

    def claimed(self, name: str) -> Claimed:
        place = [each.name for each in self._claims].index(name)
        named = named_by(self._pvs[place])
        assert named is not None
        return Claimed(self._claims[place], self._pvs[place], named)

    def plan(self, asked: ChangeButton) -> ChangePlan:
        return self.service.plan(asked, self.claimed(asked.claim))[0]

    def question(self, asked: ChangeButton) -> str:
        """What somebody is asked before it is done."""
        plan, anf = self.service.plan(asked, self.claimed(asked.claim))
        return as_text(question(asked, plan, anf))

    def ask(self, asked: ChangeButton, person: str = ERIN, **more: Any) -> str:
        """Somebody has it done, after having been shown what; its id."""
        growth = more.get("growth_bytes", self.plan(asked).growth_bytes)
        return self.begin(asked, person, growth_bytes=growth)

    def begin(self, asked: ChangeButton, person: str = ERIN, **more: Any) -> str:
        wanted, of = structs.replace(asked, **more), self.claimed(asked.claim)

        def work(session: Session) -> str:
            by = self.access.caller(session, person, TEAM_A)
            return self.service.begin(session, by, wanted, of, self.clock.now()).id

        return self.do(work)

    def give_back(self, row_id: str, person: str = ERIN) -> None:
        def work(session: Session) -> None:
            by = self.access.caller(session, person, TEAM_A)
            row = self.service.get(session, row_id)
            self.service.give_back(session, by, row, self.clock.now())

        self.do(work)

    def vote(self, row_id: str, verdict: Verdict = Verdict.APPROVE, who: str = CAROL) -> None:
        def work(session: Session) -> None:
            approval = self.approvals.of(session, CHANGE, row_id)
            assert approval is not None
            by = self.access.caller(session, who, APPROVE)
            self.approvals.vote(session, approval.id, by, verdict, self.clock.now())

        self.do(work)

    def run(self) -> None:
        """Takes every step that is due now."""
        for _ in range(100):
            if not self.loop.run_due():
                return
        raise AssertionError("the rows do not come to rest")

    def pass_time(self, **length: float) -> None:
        """Moves from one due time to the next, as a playground does."""
        end = self.clock.moment + timedelta(**length)
        while True:
            self.run()
            nearest = self.do(lambda session: due.earliest(session, self.loop.kinds))
            if nearest is None or nearest > end:
                self.clock.moment = max(self.clock.moment, end)
                return
            self.clock.moment = max(self.clock.moment, nearest)

    def row(self, row_id: str) -> VolumeChange:
        return self.do(lambda session: session.get_one(VolumeChange, row_id))

    def card(self, row_id: str, channel: str = TEAM_A) -> str:
        """Its card as text."""

        def work(session: Session) -> Card | None:
            return self.renderer.card(session, row_id, channel)

        card = self.do(work)
        assert card is not None
        return as_text(card)

    def notes(self, row_id: str) -> dict[str, str]:
        """What was said once, by purpose without its number, in order."""
        statement = select(Message).where(
            col(Message.subject_id) == row_id, col(Message.purpose) != "card"
        )
        rows = self.do(lambda s: s.scalars(statement.order_by(col(Message.id))).all())
        return {each.purpose.split("-2")[0]: "\n".join(each.content or ()) for each in rows}

    def effects(self) -> list[str]:
        """Every request with an effect that reached Azure, in order."""
        return [each.name for each in self.arm.ledger.requests if each.number is not None]


def level(claim: str, wanted: str, **more: Any) -> ChangeButton:
    """A level, as somebody asks for it."""
    return ChangeButton(
        team="team-a", cluster="default", claim=claim, kind=ChangeKind.LEVEL, level=wanted, **more
    )


def mibps(claim: str, wanted: float, **more: Any) -> ChangeButton:
    """A throughput, as somebody asks for it."""
    return ChangeButton(
        team="team-a",
        cluster="default",
        claim=claim,
        kind=ChangeKind.THROUGHPUT,
        mibps=wanted,
        **more,
    )


def _introduce(session: Session) -> None:
    for user in (ALICE, BOB, CAROL, ERIN):
        session.add(
            Person(
                workspace_id="T0QM",
                user_id=user,
                name=user.removeprefix("U0").capitalize(),
                is_guest=False,
                is_stranger=False,
                refreshed_at=FrozenClock().now(),
            )
        )


def _leave(session: Session, users: Iterable[str]) -> None:
    for user in users:
        session.get_one(Person, ("T0QM", user)).is_gone = True
