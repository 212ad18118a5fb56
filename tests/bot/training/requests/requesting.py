"""Runs that cost more than their owners may spend; 8 GPUs on burst cost 36.00 USD an hour."""

from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest
from sqlmodel import Session, select
from typing_extensions import override

from bot.approvals import Approval, ApprovalController, Approvals, Verdict
from bot.approvals.context import ApprovalContext
from bot.config import Settings
from bot.database.database import Database
from bot.errors import OutsideError
from bot.people.access import Caller
from bot.reconcile.controller import Controller
from bot.reconcile.loop import Loop
from bot.slack.card import Reply
from bot.slack.grammar.parameters import Reference
from bot.slack.messages import Message
from bot.slack.text import as_text
from bot.training.placing.limits import CostlyRunError
from bot.training.requests.card import RunRequestRenderer
from bot.training.requests.controller import RunRequestController
from bot.training.requests.record import RunRequestRecorder
from bot.training.requests.service import RunRequestService
from bot.training.requests.tables import RUN_REQUEST, RunRequest
from bot.training.requests.wording import receipt
from bot.training.submission.building import Submission
from bot.training.submission.new_run import Submitted
from bot.training.sweeps.controller import SweepController
from bot.training.sweeps.record import SweepRecorder
from bot.training.tables import Run
from tests.bot.ground import ALICE, ERIN, TEAM_A, Outside
from tests.bot.training.rig import IMAGE
from tests.bot.training.sweeps.sweeping import asked as sweep_of
from tests.bot.training.templates.two_clusters import BOTH, TEMPLATES, TwoClusters, policy

APPROVALS = "C0APPROVE"
DATASETS = {
    "namespace": "datasets",
    "image": "ghcr.io/acme/quartermaster:1",
    "state_store": "state",
    "state": "s3://qm-state/prod/",
    "classes": {"standard": {}},
    "static_drivers": ["csi.playground"],
}
COMMAND = ("python", "train.py", "--epochs", "3")


class Requesting(TwoClusters):
    """Adds requests: runs of members above 20.00 USD an hour on burst wait for an approval."""

    slack_is_down = False

    def __init__(
        self, database: Database, outside: Outside, other: Outside, policy: Settings
    ) -> None:
        self.asked_anew: list[str] = []
        super().__init__(database, outside, other, policy)
        self.set_policy()

    def set_policy(
        self,
        burst: dict[str, Any] | None = None,
        dgx: dict[str, Any] | None = None,
        approvers: Collection[str] = (),
        datasets: dict[str, Any] | None = None,
    ) -> None:
        """Changes the settings of templates, of who approves, and of datasets."""
        changed = {"burst": {"leads_above": 20, **(burst or {})}, "dgx": dgx or {}}
        templates = TEMPLATES | {key: TEMPLATES[key] | more for key, more in changed.items()}
        approvals: dict[str, Any] = {"channel": APPROVALS}
        if approvers:
            approvals["run_cost"] = {"approvers": {"people": list(approvers)}}
        stores = {"state": {"secret": "state-keys"}, "lake": {"shared": ["s3://lake/"]}}
        more: dict[str, Any] = {"datasets": datasets, "stores": stores} if datasets else {}
        self.policy = policy(templates, approvals=approvals, **more)

    @override
    def restart(self) -> None:
        super().restart()
        approvals = Approvals(self.settings, self.access)
        self.approvals = approvals
        self.requests = RunRequestService(self.settings, approvals)
        deciders = ApprovalContext(
            self.database, self.clock, self.access, approvals, self._asks_anew
        )
        recorder = RunRequestRecorder(self.access, approvals, self.service, self.sweeps)
        deciding = ApprovalController(self.database, self.clock, self.settings, approvals)
        requests = RunRequestController(self.context, deciders, recorder)
        submitting = SweepRecorder(self.settings, self.access, self.service, self.words)
        sweeps = SweepController(self.context, submitting)
        controllers: list[Controller] = [self.controller, deciding, requests, sweeps]
        self.loop = Loop(self.database, self.clock, controllers)

    def _asks_anew(self, _workspace: str, users: Iterable[str], _groups: Iterable[str]) -> None:
        if self.slack_is_down:
            raise OutsideError("Slack does not answer.")
        self.asked_anew += users

    def request(self, name: str = "wide", person: str = ALICE, **more: Any) -> str:
        """A member submits a run that costs too much, which requests an approval; its id."""
        self.look()
        fields: dict[str, Any] = {"image": IMAGE, "gpus": 8, "command": COMMAND, "templates": BOTH}
        asked, by, now = Submission(name, **(fields | more)), self.caller(person), self.clock.now()
        return self.asking(by, lambda session: self.service.submit(session, by, asked, now))

    def request_sweep(self, person: str = ALICE, **more: Any) -> str:
        """A member submits a sweep that costs too much, which requests an approval; its id."""
        self.look()
        fields: dict[str, Any] = {"gpus": 8, "templates": BOTH}
        asked, by, now = sweep_of("wide", **(fields | more)), self.caller(person), self.clock.now()
        return self.asking(by, lambda session: self.sweeps.submit(session, by, asked, now).first)

    def request_again(self, name: str) -> str:
        """A member resubmits a run that costs too much, which requests an approval; its id."""
        by, now = self.caller(), self.clock.now()

        def work(session: Session) -> Submitted:
            run = self.service.find(session, "team-a", Reference(name))
            return self.service.resubmit(session, by, run, now)

        return self.asking(by, work)

    def asking(self, by: Caller, submit: Callable[[Session], Submitted]) -> str:
        """Requests an approval in the transaction of the submission, as handlers do."""

        def work(session: Session) -> str:
            with pytest.raises(CostlyRunError) as caught:
                submit(session)
            row, approval = self.requests.ask(session, by, caught.value.asked, self.clock.now())
            deciders = self.requests.deciders(session, approval)
            self.told = as_text(receipt(row, approval, deciders))
            return row.id

        return self.do(work)

    def decides(self, row_id: str, person: str = ERIN, verdict: Verdict = Verdict.APPROVE) -> None:
        """Somebody votes on a request."""
        by = self.caller(person, APPROVALS, team="team-a")

        def work(session: Session) -> None:
            found = self.approvals.of(session, RUN_REQUEST, row_id)
            assert found is not None
            self.approvals.vote(session, found.id, by, verdict, self.clock.now())

        self.do(work)

    def withdraws(self, row_id: str, person: str = ALICE) -> None:
        """Somebody withdraws a request."""
        by = self.caller(person)
        self.do(lambda s: self.requests.withdraw(s, by, self.requests.get(s, row_id),
                                                 self.clock.now()))  # fmt: skip

    def row(self, row_id: str) -> RunRequest:
        """The row of a request."""
        return self.do(lambda session: self.requests.get(session, row_id))

    def approval(self, row_id: str) -> Approval:
        """The newest request for approval of it."""
        found = self.do(lambda session: self.approvals.of(session, RUN_REQUEST, row_id))
        assert found is not None
        return found

    def shown(self, row_id: str, channel: str = TEAM_A) -> str:
        """The card of a request in a channel, as text."""
        renderer = RunRequestRenderer(self.settings, self.approvals)
        card = self.do(lambda session: renderer.card(session, row_id, channel))
        assert card is not None
        return as_text(Reply(card=card))

    def runs(self) -> list[tuple[str, str, str]]:
        """All runs: their names, owners and channels."""
        found = self.do(lambda session: session.exec(select(Run)).all())
        return [(each.reference, each.person, each.channel) for each in found]

    def places(self, row_id: str) -> list[str]:
        """The channels and people that have a card of the request."""
        found = self.do(lambda session: session.exec(select(Message)).all())
        return sorted(
            each.channel for each in found if (each.subject_id, each.purpose) == (row_id, "card")
        )
