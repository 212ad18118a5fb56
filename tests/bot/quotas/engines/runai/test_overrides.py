"""Overrides of projects from approval to end, over HTTP."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from typing_extensions import override

from bot.approvals import Approvals
from bot.cluster.resources import NODES
from bot.config import Settings
from bot.database.database import Database
from bot.people.access import Access
from bot.quotas.engines.quota import NOMINAL
from bot.quotas.engines.registry import Engines
from bot.quotas.engines.runai.objects import GpuShare
from bot.quotas.engines.runai.quota_fields import changed
from bot.quotas.renderer import OverrideRenderer
from bot.quotas.service import QuotaService
from bot.quotas.tables import OverridePhase
from playground.ledger import Fault
from tests.bot.quotas.engines.runai.plane import POOL, ControlPlane
from tests.bot.quotas.engines.runai.seeing import cluster_of, cluster_settings, look, node
from tests.bot.quotas.people import DAY, FrozenClock, meet, settings
from tests.bot.quotas.queue_server import Stopped
from tests.bot.quotas.rig import Rig
from tests.databases import create_tables

SOON = timedelta(minutes=1)


class ProjectRig(Rig):
    """Everything of quotas, on projects of Run:ai."""

    def __init__(self, database: Database, plane: ControlPlane, folder: Path) -> None:
        self.database, self.plane = database, plane
        self.policy = self._configured(settings())
        self.clock = FrozenClock()
        self.cluster = cluster_of(folder)
        self.engines = Engines(self.settings, {"default": self.cluster})
        self.stopped = Stopped()
        self.access = Access(self.settings)
        self.approvals = Approvals(self.settings, self.access)
        self.service = QuotaService(self.settings, self.access, self.approvals, self.engines)
        self.renderer = OverrideRenderer(self.settings, self.approvals, self.service, self.clock)
        self.asked_about, self.guests, self.is_slack_down = [], set(), False
        self.restart()
        self.look()
        self.do(meet)

    @override
    def look(self) -> None:
        look(self.cluster, self.plane, {NODES: [node("gpu-1"), node("gpu-2")]})

    def quota(self, project: str = "team-a") -> float:
        return self.plane.tenant.quota(project, POOL)

    def patches(self) -> int:
        return self.plane.asked().count("patch project")

    def configure(self, **quotas: str) -> None:
        self.policy = self._configured(settings(**quotas))

    def _configured(self, usual: Settings) -> Settings:
        clusters = {"default": cluster_settings(self.plane)}
        return usual.model_copy(update={"clusters": clusters})


@pytest.fixture
def rig(tmp_path: Path, plane: ControlPlane) -> Iterator[ProjectRig]:
    url = f"sqlite:///{tmp_path}/test.db"
    create_tables(url)
    with closing(Database(url)) as database:
        yield ProjectRig(database, plane, tmp_path)


def test_approval_raises_a_project_and_end_restores_it(rig: ProjectRig) -> None:
    override_id = rig.ask()
    rig.run()
    assert (rig.row(override_id).phase, rig.quota()) == (OverridePhase.ASKED, 4)
    rig.vote(override_id)
    rig.run()
    assert (rig.row(override_id).phase, rig.quota()) == (OverridePhase.ACTIVE, 12)
    rig.pass_time(3 * DAY + SOON)
    assert (rig.row(override_id).phase, rig.quota()) == (OverridePhase.ENDED, 4)
    assert rig.patches() == 2
    assert rig.baselines() == {None}


def test_an_active_override_writes_only_once(rig: ProjectRig) -> None:
    rig.approved()
    rig.pass_time(DAY)
    rig.wake_quotas()
    rig.run()
    assert (rig.quota(), rig.patches()) == (12, 1)


def test_overrides_of_a_project_add_up(rig: ProjectRig) -> None:
    rig.approved("+2", length=DAY)
    rig.approved("+1", length=2 * DAY)
    assert rig.quota() == 7
    rig.pass_time(DAY + SOON)
    assert rig.quota() == 5
    rig.pass_time(DAY)
    assert rig.quota() == 4


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_a_broken_connection_neither_doubles_nor_loses(rig: ProjectRig, fault: Fault) -> None:
    rig.plane.ledger.by_name["patch project"] = [fault]
    override_id = rig.approved()
    assert (rig.row(override_id).phase, rig.quota()) == (OverridePhase.ACTIVE, 12)
    rig.plane.ledger.by_name["patch project"] = [fault]
    rig.pass_time(3 * DAY + SOON)
    assert (rig.row(override_id).phase, rig.quota()) == (OverridePhase.ENDED, 4)


def test_death_in_any_step_is_made_up(rig: ProjectRig) -> None:
    override_id = rig.ask()
    rig.vote(override_id)
    for number in range(4):
        rig.die_in_step(number)
        rig.clock.moment += timedelta(minutes=2)
    rig.run()
    assert (rig.row(override_id).phase, rig.quota()) == (OverridePhase.ACTIVE, 12)


def test_an_external_change_is_reported_not_overwritten(rig: ProjectRig) -> None:
    override_id = rig.approved()
    rig.plane.tenant.set_quota("team-a", POOL, 6)
    rig.wake_quotas()
    rig.run()
    assert rig.quota() == 6
    stopped = next(text for key, text in rig.said(override_id).items() if "stopped" in key)
    assert (
        "the nominal quota of Project team-a (h100) was set to 6 outside Quartermaster; it should"
        " be 12. Nothing was changed." in stopped
    )
    rig.take_over(theirs=False)
    rig.run()
    assert rig.quota() == 12


def test_a_limit_moves_along_with_the_quota(rig: ProjectRig) -> None:
    gpu = rig.plane.tenant.projects["team-a"]["resources"][0]["gpu"]
    gpu["limit"] = 8
    rig.look()
    rig.approved("+2")
    raised = rig.plane.tenant.projects["team-a"]["resources"][0]["gpu"]
    assert raised == {"deserved": 6, "limit": 10, "overQuotaWeight": 2}
    rig.pass_time(3 * DAY + SOON)
    restored = rig.plane.tenant.projects["team-a"]["resources"][0]["gpu"]
    assert restored == {"deserved": 4, "limit": 8, "overQuotaWeight": 2}


def test_a_limit_returns_from_zero(rig: ProjectRig) -> None:
    gpu = rig.plane.tenant.projects["team-a"]["resources"][0]["gpu"]
    gpu |= {"deserved": 0, "limit": 0}
    rig.look()
    rig.approved("+2")
    raised = rig.plane.tenant.projects["team-a"]["resources"][0]["gpu"]
    assert raised == {"deserved": 2, "limit": 2, "overQuotaWeight": 2}
    rig.pass_time(3 * DAY + SOON)
    restored = rig.plane.tenant.projects["team-a"]["resources"][0]["gpu"]
    assert restored == {"deserved": 0, "limit": 0, "overQuotaWeight": 2}


def test_a_limit_never_turns_into_none() -> None:
    share = GpuShare(deserved=Decimal(4), limit=Decimal(2))
    assert changed(share, NOMINAL, Decimal(1)).limit == 0


def test_an_override_may_raise_what_is_borrowed(rig: ProjectRig) -> None:
    rig.configure(override="borrowing_limit")
    rig.plane.tenant.projects["team-a"]["resources"][0]["gpu"]["limit"] = 6
    rig.look()
    rig.approved("+3")
    raised = rig.plane.tenant.projects["team-a"]["resources"][0]["gpu"]
    assert raised == {"deserved": 4, "limit": 9, "overQuotaWeight": 2}
    rig.pass_time(3 * DAY + SOON)
    assert rig.plane.tenant.projects["team-a"]["resources"][0]["gpu"]["limit"] == 6


def test_the_card_shows_why_runai_refuses(rig: ProjectRig) -> None:
    for _ in range(20):
        rig.plane.app.refuse("patch project", 400, "the department's quota is exceeded")
    override_id = rig.ask()
    rig.vote(override_id)
    rig.run()
    rig.pass_time(timedelta(minutes=10))
    text = str(rig.card(override_id))
    assert "refused to change the quota of project team-a: 400: the department's quota" in text
    rig.plane.app.refusals.clear()
    rig.pass_time(timedelta(minutes=10))
    assert (rig.row(override_id).phase, rig.quota()) == (OverridePhase.ACTIVE, 12)


def test_a_permanent_quota_stays_set(rig: ProjectRig) -> None:
    override_id = rig.set_base("6")
    rig.vote(override_id, who="U0BOB")
    rig.run()
    rig.pass_time(30 * DAY)
    assert (rig.quota(), rig.baselines()) == (6, {None})


def test_a_deleted_project_is_reported(rig: ProjectRig) -> None:
    override_id = rig.approved()
    del rig.plane.tenant.projects["team-a"]
    rig.wake_quotas()
    rig.run()
    said = "\n".join(rig.said(override_id).values())
    gone = "Project team-a no longer has a nominal quota of nvidia.com/gpu for flavor h100."
    assert gone in said


def test_without_annotations_nothing_is_recovered(rig: ProjectRig) -> None:
    rig.approved()
    assert rig.recover() == 0
    assert rig.quota_id()
    assert Decimal(str(rig.quota())) == 12
