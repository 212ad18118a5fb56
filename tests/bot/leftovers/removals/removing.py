"""Removals above a limit; a GiB of class standard costs 0.10 a month, and imagenet has 1 TiB."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sqlmodel import Session, select
from typing_extensions import override

from bot.approvals import Approval, ApprovalController, Approvals, Verdict
from bot.approvals.context import ApprovalContext
from bot.config import Settings
from bot.database.database import Database
from bot.datasets.caches.lifecycle.service import KeepingService
from bot.datasets.caches.tables import Cache, Orphan
from bot.datasets.usage.service import UsageService
from bot.errors import OutsideError
from bot.leftovers.removals.card import RemovalRequestRenderer
from bot.leftovers.removals.controller import RemovalRequestController
from bot.leftovers.removals.record import RemovalRecorder
from bot.leftovers.removals.service import RemovalService
from bot.leftovers.removals.tables import REMOVAL_REQUEST, RemovalKind, RemovalRequest
from bot.leftovers.removals.things import Caches, Claims, Objects, Snapshots, Things
from bot.leftovers.removals.wording import receipt
from bot.reconcile.controller import Controller
from bot.reconcile.frame import ControllerContext
from bot.slack.card import Reply
from bot.slack.messages import Message
from bot.slack.text import as_text
from bot.snapshots.deletions.service import written
from bot.snapshots.deletions.tables import Deletion
from tests.bot.datasets.caches.rows import add_cached
from tests.bot.ground import CAROL, ERIN, TEAM_A, Outside
from tests.bot.snapshots.deletions.deleting import Deleting, asked_of
from tests.bot.snapshots.resizes.resizing import APPROVALS, PRICES
from tests.bot.snapshots.rig import SETTINGS

TEN_GIB: dict[str, float] = {"approve_above_gib": 10}


class Removing(Deleting):
    """Adds requests; above 10 GiB, Carol has to approve."""

    slack_is_down = False

    def __init__(self, database: Database, outside: Outside, folder: Path) -> None:
        self.asked_anew: list[str] = []
        super().__init__(database, outside, folder)
        self.set_limit(TEN_GIB)
        things: Things = {
            RemovalKind.CLAIM: Claims(self.access, self.claims, self.deletions),
            RemovalKind.SNAPSHOT: Snapshots(self.snapshots),
            RemovalKind.CACHE: Caches(self.settings, KeepingService(self.settings, self.words)),
            RemovalKind.OBJECT: Objects(UsageService(self.settings, self.clusters)),
        }
        self.removals = RemovalService(self.settings, self.approvals, things)
        self._things.update(things)

    @override
    def restart(self) -> None:
        self._things: dict[RemovalKind, Any] = getattr(self, "_things", {})
        super().restart()

    def set_limit(self, limit: dict[str, float], approvers: Iterable[str] = (CAROL,)) -> None:
        """Above these limits, these people have to approve."""
        told = {"channel": APPROVALS, "removal": {"approvers": {"people": list(approvers)}}}
        policy: dict[str, Any] = {"approvals": told, "leftovers": limit, "datasets": PRICES}
        policy["stores"] = {"state": {"secret": "state-keys"}}
        self.policy = Settings.model_validate(SETTINGS.model_dump() | policy)

    @override
    def controllers(self, world: ControllerContext) -> list[Controller]:
        self.approvals = Approvals(self.settings, self.access)
        deciders = ApprovalContext(
            self.database, self.clock, self.access, self.approvals, self._asks_anew
        )
        deciding = ApprovalController(self.database, self.clock, self.settings, self.approvals)
        recorder = RemovalRecorder(self.access, self.approvals, self._things)
        requests = RemovalRequestController(world, deciders, recorder)
        return [*super().controllers(world), deciding, requests]

    def _asks_anew(self, _workspace: str, users: Iterable[str], _groups: Iterable[str]) -> None:
        if self.slack_is_down:
            raise OutsideError("Slack does not answer.")
        self.asked_anew += users

    def claim_value(self, *, saves: bool = False) -> str:
        """The value of the button that deletes imagenet."""
        return written(asked_of(self.summary().claim.uid, saves=saves))

    def asks(
        self,
        value: str,
        kind: RemovalKind = RemovalKind.CLAIM,
        person: str = ERIN,
        channel: str = TEAM_A,
    ) -> str:
        """Somebody clicks a button that removes something; the request's id, empty for none."""
        self.look()
        by = self.caller(person, channel)

        def work(session: Session) -> str:
            asked = self.removals.ask(session, by, kind, value, self.clock.now())
            if asked is None:
                return ""
            deciders = self.removals.deciders(session, asked[1])
            self.told = as_text(receipt(*asked, deciders, self.policy.leftovers))
            return asked[0].id

        return self.do(work)

    def decides(self, row_id: str, verdict: Verdict = Verdict.APPROVE, by: str = CAROL) -> None:
        """Somebody votes on a request."""
        caller = self.caller(by, APPROVALS)
        found = self.approval(row_id)
        self.do(lambda s: self.approvals.vote(s, found.id, caller, verdict, self.clock.now()))

    def withdraws(self, row_id: str, person: str = ERIN) -> None:
        """Somebody withdraws a request."""
        by = self.caller(person)
        self.do(lambda s: self.removals.withdraw(s, by, self.removals.get(s, row_id),
                                                 self.clock.now()))  # fmt: skip

    def request(self, row_id: str) -> RemovalRequest:
        """The row of a request."""
        return self.do(lambda session: self.removals.get(session, row_id))

    def approval(self, row_id: str) -> Approval:
        """The newest request for approval of it."""
        found = self.do(lambda session: self.approvals.of(session, REMOVAL_REQUEST, row_id))
        assert found is not None
        return found

    def shown(self, row_id: str, channel: str = TEAM_A) -> list[str]:
        """The card of a request in a channel, as lines of text."""
        renderer = RemovalRequestRenderer(self.settings, self.approvals)
        card = self.do(lambda session: renderer.card(session, row_id, channel))
        assert card is not None
        return [" ".join(each.split()) for each in as_text(Reply(card=card)).splitlines()]

    def deletions_begun(self) -> list[tuple[str, str]]:
        """All deletions of PVCs: who requested them, and their phases."""
        found = self.do(lambda session: session.exec(select(Deletion)).all())
        return [(each.person, each.phase) for each in found]

    def places(self, row_id: str) -> list[str]:
        """The channels that have a card of the request."""
        found = self.do(lambda session: session.exec(select(Message)).all())
        return sorted(
            each.channel for each in found if (each.subject_id, each.purpose) == (row_id, "card")
        )

    def cached(self, cluster: str = "") -> str:
        """A ready cache of team-a on 300 GiB of class standard, in a further cluster; its id."""
        more = {"cluster": cluster, "named_cluster": cluster} if cluster else {}
        return self.do(lambda session: add_cached(session, f"{cluster}-xray", **more).id)

    def cache(self, row_id: str) -> Cache:
        return self.do(lambda session: session.get_one(Cache, row_id))

    def left_over(self, kind: str = "PersistentVolumeClaim", uid: str = "1") -> str:
        """An unneeded object of datasets, of 100 GiB if it is a PVC; its id."""

        def work(session: Session) -> str:
            size = 100 * 2**30 if kind != "Job" else None
            row = Orphan(
                workspace_id="T0QM", cluster="default", kind=kind, namespace="datasets",
                name="old-1", uid=uid, size_bytes=size, found_at=self.clock.now(),
            )  # fmt: skip
            session.add(row)
            return row.id

        return self.do(work)

    def orphan(self, row_id: str) -> Orphan:
        return self.do(lambda session: session.get_one(Orphan, row_id))

    def grow(self, size: str) -> None:
        """Somebody makes imagenet larger by hand."""
        claim = {"spec": {"resources": {"requests": {"storage": size}}}}
        self.world.patch("persistentvolumeclaims", "imagenet", claim, "team-a")
        self.pass_time(minutes=2)
