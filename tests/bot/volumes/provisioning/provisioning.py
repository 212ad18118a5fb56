"""Pools as admins ask for them; Carol is an admin, Bob and Carol approve. Time moves by hand."""

from typing import Any

from typing_extensions import override

from bot.approvals import Approval, ApprovalController, Verdict
from bot.approvals.context import ApprovalContext
from bot.config import Settings
from bot.reconcile.frame import ControllerContext
from bot.reconcile.loop import Loop
from bot.slack.card import Reply
from bot.slack.text import as_text
from bot.volumes.anf import NetAppFiles
from bot.volumes.changes.controller import VolumeChangeController
from bot.volumes.provisioning.card import PoolRequestRenderer, question
from bot.volumes.provisioning.controller import PoolRequestController
from bot.volumes.provisioning.plan import TIB, PoolOrder
from bot.volumes.provisioning.service import PoolService
from bot.volumes.provisioning.tables import POOL_REQUEST, PoolPhase, PoolRequest, PoolVerb
from playground.arm.estate import SUBSCRIPTION, Pool
from tests.bot.volumes.changes.rig import APPROVE, BOB, CAROL, Rig, settings_of

INSTALLATION = "0123456789abcdef"
ACCOUNT = "ml-platform/ml"
EFFECTS = ("PUT", "DELETE", "PATCH", "POST")


class Provisioning(Rig):
    """The rig of changes, with what creates and deletes pools."""

    slack_is_asked = 0

    @override
    def restart(self) -> None:
        if self.policy.approvals.anf_pool.approvers.people == ():
            self.set()
        super().restart()
        self.service_of_pools = PoolService(self.settings, self.files, self.approvals, INSTALLATION)

    def set(self, creation: dict[str, Any] | None = None, **anf: Any) -> None:
        """Other settings."""
        told = settings_of(self.arm).model_dump()
        told["anf"] |= {"accounts": [ACCOUNT], "pool_creation": creation or {}, **anf}
        told["approvals"]["anf_pool"] = {"approvers": {"people": [CAROL, BOB]}}
        self.policy = Settings.model_validate(told)

    @override
    def process(self, files: NetAppFiles) -> Loop:
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
                PoolRequestController(context, deciding, files, INSTALLATION),
                ApprovalController(self.database, self.clock, self.settings, self.approvals),
            ],
        )

    def offer(self, order: PoolOrder, person: str = CAROL) -> str:
        """What somebody is shown."""
        by = self.access.caller
        self.do(lambda s: self.service_of_pools.check(s, by(s, person, APPROVE), order))
        return as_text(question(self.service_of_pools.plan(order)))

    def request(self, order: PoolOrder, person: str = CAROL) -> str:
        """Somebody clicks the button of what was shown; the id of the row."""
        planned = self.service_of_pools.plan(order).order
        by, now = self.access.caller, self.clock.now()
        return self.do(
            lambda s: self.service_of_pools.ask(s, by(s, person, APPROVE), planned, now).id
        )

    def decides(self, row_id: str, verdict: Verdict = Verdict.APPROVE, person: str = BOB) -> None:
        """Somebody votes on a request."""
        found, now = self.approval_of(row_id), self.clock.now()
        by = self.access.caller
        self.do(lambda s: self.approvals.vote(s, found.id, by(s, person, APPROVE), verdict, now))

    def approval_of(self, row_id: str) -> Approval:
        found = self.do(lambda session: self.approvals.of(session, POOL_REQUEST, row_id))
        assert found is not None
        return found

    def withdraws(self, row_id: str) -> None:
        """Carol withdraws a request."""
        by, service, now = self.access.caller, self.service_of_pools, self.clock.now()
        self.do(lambda s: service.withdraw(s, by(s, CAROL, APPROVE), service.get(s, row_id), now))

    def pool_request(self, row_id: str) -> PoolRequest:
        return self.do(lambda session: session.get_one(PoolRequest, row_id))

    def ended(self, row_id: str) -> tuple[str, str]:
        """The phase of a request and why."""
        row = self.pool_request(row_id)
        return PoolPhase(row.phase), row.reason

    def shown(self, row_id: str, channel: str = APPROVE) -> list[str]:
        """The card of a request, as lines of text."""
        renderer = PoolRequestRenderer(self.settings, self.approvals)
        card = self.do(lambda session: renderer.card(session, row_id, channel))
        assert card is not None
        return [" ".join(each.split()) for each in as_text(Reply(card=card)).splitlines()]

    def named(self, name: str) -> Pool | None:
        """A pool as Azure has it."""
        return next((each for each in self.arm.estate.pools if each.name == name), None)

    def asked(self) -> list[str]:
        """The requests to Azure that change something."""
        return [each for each in self.arm.asked() if each.startswith(EFFECTS)]


def create(name: str = "premium-2", tebibytes: int = 4, **more: Any) -> PoolOrder:
    """An order of a pool of level Premium."""
    fields: dict[str, Any] = {"level": "Premium", "size_bytes": tebibytes * TIB, **more}
    return PoolOrder(
        verb=PoolVerb.CREATE, subscription=SUBSCRIPTION, account=ACCOUNT, pool=name, **fields
    )


def delete(name: str) -> PoolOrder:
    """An order to delete a pool."""
    return PoolOrder(verb=PoolVerb.DELETE, subscription=SUBSCRIPTION, account=ACCOUNT, pool=name)
