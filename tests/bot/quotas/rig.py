"""Quotas on a database and on ClusterQueues behind a real HTTP server that can misbehave."""

from collections.abc import Callable, Iterable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from sqlmodel import select

from bot.approvals import ApprovalController, Approvals, Verdict
from bot.approvals.context import ApprovalContext
from bot.cluster.api.answers import decode
from bot.cluster.api.connection import Connection
from bot.cluster.cluster import Cluster
from bot.cluster.resources import (
    CLUSTER_QUEUES,
    LOCAL_QUEUES,
    NODES,
    RESOURCE_FLAVORS,
    WORKLOADS,
)
from bot.config import Settings
from bot.database.database import Database, Session
from bot.errors import ChatError
from bot.people.access import Access
from bot.quotas.engines.opening import watched_with
from bot.quotas.engines.quota import ANNOTATION
from bot.quotas.engines.registry import Engines
from bot.quotas.managed.controller import QuotaController
from bot.quotas.overrides.controller import OverrideController
from bot.quotas.overrides.request import OverrideRequest
from bot.quotas.renderer import OverrideRenderer
from bot.quotas.replies import Past, history_card, status_card
from bot.quotas.service import QuotaService
from bot.quotas.tables import QUOTA, ManagedQuota, Override
from bot.quotas.watching import recover
from bot.reconcile import due
from bot.reconcile.controller import Controller
from bot.reconcile.frame import ControllerContext
from bot.reconcile.loop import Loop
from bot.slack.card import Card
from bot.slack.grammar.parameters import Amount
from bot.slack.messages import Message
from tests.bot.cluster.api.api_server import ApiServer, write_kubeconfig
from tests.bot.cluster.conftest import PATIENT
from tests.bot.quotas.people import (
    ALICE,
    APPROVE,
    CAROL,
    DAY,
    TEAM_A,
    FrozenClock,
    caller,
    meet,
    settings,
)
from tests.bot.quotas.queue_server import GROUP, Kueue, Stopped, local_queue, node

T = TypeVar("T")

INSTALLATION = "0123456789abcdef"


class Rig:
    """Everything of quotas, built as the composition root builds it; time moves by hand."""

    def __init__(self, database: Database, server: ApiServer, folder: Path) -> None:
        self.database = database
        self.policy = settings()
        self.clock = FrozenClock()
        self.kueue = Kueue(server)
        server.on("GET", "/apis/kueue.x-k8s.io", lambda _, wire: wire.send(200, GROUP))
        path = write_kubeconfig(folder / "kubeconfig", server.url, {"token": "t"})
        self.cluster = Cluster(
            "default",
            Connection.to(str(path), timeouts=PATIENT),
            INSTALLATION,
            watched=watched_with("kueue"),
        )
        self.engines = Engines(self.settings, {"default": self.cluster})
        self.stopped = Stopped()
        self.age_seconds = 0.0
        self.access = Access(self.settings)
        self.approvals = Approvals(self.settings, self.access)
        self.service = QuotaService(self.settings, self.access, self.approvals, self.engines)
        self.renderer = OverrideRenderer(self.settings, self.approvals, self.service, self.clock)
        self.asked_about: list[list[str]] = []
        self.guests: set[str] = set()
        self.is_slack_down = False
        self.restart()
        self._furnish()

    def settings(self) -> Settings:
        return self.policy

    def restart(self) -> None:
        """A new process on the same database."""
        place = (self.database, self.clock)
        context = ControllerContext(
            *place, self.settings, {"default": self.cluster}, lambda text: f"/{text}"
        )
        deciding = ApprovalContext(*place, self.access, self.approvals, self.slack_tells)
        self.controllers: list[Controller] = [
            QuotaController(*place, self.engines),
            OverrideController(context, deciding, self.engines, self.stopped),
            ApprovalController(*place, self.settings, self.approvals),
        ]
        self.loop = Loop(*place, self.controllers)

    def slack_tells(self, _workspace: str, users: Iterable[str], _groups: Iterable[str]) -> None:
        """What Slack answers when it is asked about approvers before the act."""
        self.asked_about.append(list(users))
        if self.is_slack_down:
            raise ChatError("Slack did not answer.", code="unreachable")
        for user in self.guests & set(users):
            self.take_right_from(user)

    def do(self, work: Callable[[Session], T]) -> T:
        return self.database.transaction(work)

    def run(self) -> None:
        """Takes every step that is due, retries within half a minute included."""
        for _ in range(60):
            if not self.loop.run_due():
                nearest = self.do(lambda session: due.earliest(session, self.loop.kinds))
                if nearest is None or nearest > self.clock.moment + timedelta(seconds=30):
                    return
                self.clock.moment = max(self.clock.moment, nearest)
        raise AssertionError("the rows do not come to rest")

    def pass_time(self, length: timedelta) -> None:
        """Moves from one due time to the next, as a playground does."""
        end = self.clock.moment + length
        while True:
            self.run()
            nearest = self.do(lambda session: due.earliest(session, self.loop.kinds))
            if nearest is None or nearest > end:
                self.clock.moment = max(self.clock.moment, end)
                return
            self.clock.moment = max(self.clock.moment, nearest)

    def look(self) -> None:
        """Has the view see the queues as they are."""
        for resource, objects in {
            CLUSTER_QUEUES: list(self.kueue.queues.values()),
            **self.kueue.others,
        }.items():
            store = self.cluster.view.store(resource)
            bodies = [msgspec.json.encode(each) for each in objects]
            store.replace([decode(body, resource.type, "Looking") for body in bodies])
            store.prove()
            store._proved_at -= self.age_seconds

    def ask(
        self, amount: str = "+8", person: str = ALICE, channel: str = TEAM_A, **more: Any
    ) -> str:
        """Somebody asks for an override of team-a; its id."""
        options = self.options(amount, **more)
        return self.do(
            lambda session: self.service.request(
                session, options, caller(person, channel), self.clock.now()
            )
        ).id

    def options(self, amount: str, **more: Any) -> OverrideRequest:
        spelled = Amount(int(amount), relative=amount[0] in "+-")
        fields: dict[str, Any] = {"team": "team-a", "reason": "CVPR deadline", "length": 3 * DAY}
        return OverrideRequest(amount=spelled, **(fields | more))

    def vote(self, override_id: str, verdict: Verdict = Verdict.APPROVE, who: str = CAROL) -> None:
        def work(session: Session) -> None:
            approval = self.approvals.of(session, "override", override_id)
            assert approval is not None
            by = caller(who, APPROVE, None)
            self.approvals.vote(session, approval.id, by, verdict, self.clock.now())

        self.do(work)

    def approved(self, amount: str = "+8", **more: Any) -> str:
        """An override that was asked for, approved and carried out."""
        override_id = self.ask(amount, **more)
        self.vote(override_id)
        self.run()
        return override_id

    def history(self) -> Card:
        def work(session: Session) -> Card:
            rows = self.service.history(session, "team-a")
            people = [self.service.decision(session, row).people for row in rows]
            return history_card([Past(*each) for each in zip(rows, people, strict=True)], "team-a")

        return self.do(work)

    def status(self, *teams: str) -> Card:
        self.look()
        return status_card(self.do(lambda session: self.service.status(session, teams)))

    def set_base(self, amount: str, channel: str = APPROVE) -> str:
        options, by = self.options(amount, length=None), caller(CAROL, channel)
        now = self.clock.now()
        return self.do(lambda session: self.service.set_base(session, options, by, now)).id

    def take_right_from(self, person: str) -> None:
        """Makes somebody no approver of overrides any more."""
        approvals = self.policy.approvals
        policy = approvals.quota_override
        others = tuple(each for each in policy.approvers.people if each != person)
        approvers = policy.approvers.model_copy(update={"people": others})
        policy = policy.model_copy(update={"approvers": approvers})
        approvals = approvals.model_copy(update={"quota_override": policy})
        self.policy = self.policy.model_copy(update={"approvals": approvals})

    def raise_amount(self, override_id: str, amount: int) -> None:
        """A change behind the back of those who approved."""

        def work(session: Session) -> None:
            session.get_one(Override, override_id).amount = Decimal(amount)

        self.do(work)

    def wake_quotas(self) -> None:
        """What the watch does when a queue changes."""

        def work(session: Session) -> None:
            for quota in session.exec(select(ManagedQuota)):
                due.wake(session, QUOTA, quota.id, "cluster:default", self.clock.now())

        self.do(work)

    def quota_id(self) -> str:
        return self.do(lambda session: session.exec(select(ManagedQuota)).one().id)

    def baselines(self) -> set[Decimal | None]:
        return self.do(lambda s: {each.baseline for each in s.exec(select(ManagedQuota))})

    def take_over(self, *, theirs: bool) -> None:
        def work(session: Session) -> None:
            quota = session.exec(select(ManagedQuota)).one()
            value = f"{quota.id}:{quota.external_value}"
            by = caller(CAROL, APPROVE, None)
            self.service.take_over(session, value, by, self.clock.now(), theirs=theirs)

        self.do(work)

    def recover(self) -> int:
        engine, now = self.engines.of("default"), self.clock.now()
        return self.do(lambda session: recover(session, engine, "T0QM", now))

    def step_until_patched(self) -> None:
        while not self.kueue.patches:
            assert self.loop.run_due()

    def die_in_step(self, number: int) -> None:
        """Takes steps of which one is done and not saved, as when the process dies in it."""
        for _ in range(number):
            self.loop.run_due()
        wanted = due.ClaimQuery(self.loop.kinds, 1, 1)
        now = self.clock.now()
        for held in self.do(lambda session: due.claim(session, wanted, now, now - 3 * DAY)):
            controller = next(each for each in self.controllers if each.kind == held.kind)
            controller.step(held.id)
        self.restart()

    def pretend_other_installation(self) -> None:
        text = self.kueue.annotated("team-a") or ""
        metadata = self.kueue.queues["team-a"]["metadata"]
        metadata["annotations"][ANNOTATION] = text.replace(INSTALLATION, "fedcba9876543210")
        self.look()

    def revoke(self, override_id: str, who: str = ALICE) -> None:
        self.do(
            lambda session: self.service.revoke(
                session, override_id[-6:], caller(who), self.clock.now()
            )
        )

    def row(self, override_id: str) -> Override:
        return self.do(lambda session: session.get_one(Override, override_id))

    def card(self, override_id: str, channel: str = APPROVE) -> Card:
        card = self.do(lambda session: self.renderer.card(session, override_id, channel))
        assert card is not None
        return card

    def said(self, override_id: str) -> dict[str, str]:
        """What was said once about an override, by purpose."""

        def work(session: Session) -> dict[str, str]:
            rows = session.exec(select(Message).where(Message.subject_id == override_id))
            return {each.purpose: "\n".join(each.content) for each in rows if each.content}

        return self.do(work)

    def _furnish(self) -> None:
        self.kueue.others = {
            LOCAL_QUEUES: [local_queue("team-a"), local_queue("team-b")],
            RESOURCE_FLAVORS: [{"metadata": {"name": "h100"}}],
            NODES: [node("node-1"), node("node-2")],
            WORKLOADS: [],
        }
        self.kueue.add("team-a", "4")
        self.kueue.add("team-b", "8")
        self.kueue.changed = self.look
        self.look()
        self.do(meet)
