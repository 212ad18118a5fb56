"""Teams are created and removed on a real control plane, with the bot's own rights alone."""

import secrets
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlmodel import Session
from typing_extensions import override

from bot.approvals import Approvals, Verdict
from bot.approvals.context import ApprovalContext
from bot.clock import Clock
from bot.cluster import labels
from bot.cluster.api.connection import Connection
from bot.cluster.cluster import Cluster
from bot.config import Settings
from bot.database.database import Database
from bot.people.access import Access, Caller, ChannelPlace
from bot.quotas.engines.registry import Engines
from bot.reconcile.frame import ControllerContext
from bot.teams.checking import check_rights
from bot.teams.controller import TeamController
from bot.teams.stores import TeamStores
from bot.teams.tables import CHANGE, ChangePhase, SlackTeam, TeamChange, Verb
from bot.training.kinds import WORKLOADS
from playground.cluster.kai_story import ABOVE
from tests.bot.cluster.conftest import PATIENT
from tests.bot.ground import CAROL, ERIN, INSTALLATION
from tests.cluster.api import Api, ApiError, Object, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.kai import QUEUES, furnish
from tests.cluster.rights import BOT, deploy
from tests.cluster.site import Site
from tests.cluster.test_repairs import nobody

BINDINGS = "rolebindings.rbac.authorization.k8s.io"
CLUSTER_QUEUES, LOCAL_QUEUES = "clusterqueues.kueue.x-k8s.io", "localqueues.kueue.x-k8s.io"


class SkippingClock(Clock):
    """Real time, with what a test has skipped."""

    def skip(self, **length: float) -> None:
        self._skipped = getattr(self, "_skipped", timedelta()) + timedelta(**length)

    @override
    def now(self) -> datetime:
        return super().now() + getattr(self, "_skipped", timedelta())


class Rig:
    """The bot's part for teams in a cluster with that engine; Carol asks, Erin approves."""

    def __init__(self, plane: ControlPlane, database: Database, engine: str) -> None:
        self.api, self.database, self.clock = plane.api, database, SkippingClock()
        self.team = f"vision-{secrets.token_hex(3)}"
        deploy(plane.api, f"team-creation/{engine}.yaml")
        deciders = {"approvers": {"people": [CAROL, ERIN]}}
        self.settings = Settings.model_validate(
            {
                "workspace": "T0QM",
                "admins": {"people": [CAROL]},
                "clusters": {"default": {"engine": engine}},
                "teams": {},
                "team_creation": {"roles": ["quartermaster-team"]},
                "approvals": {"team_change": deciders},
            }
        )
        connection = Connection.to(str(plane.bot_kubeconfig), timeouts=PATIENT)
        self.cluster = Cluster("default", connection, INSTALLATION, workloads=WORKLOADS)
        clusters = {"default": self.cluster}
        access = Access(lambda: self.settings)
        self.approvals = Approvals(lambda: self.settings, access)
        context = ControllerContext(
            database, self.clock, lambda: self.settings, clusters, lambda text: f"/{text}"
        )
        deciding = ApprovalContext(database, self.clock, access, self.approvals, nobody)
        stores = TeamStores(Engines(context.settings, context.clusters))
        self.controller = TeamController(context, deciding, stores, ())

    def create(self, gpus: int = 4, above: str = "", gpu_type: str = "") -> str:
        """Carol asks for a team; the id of the row."""
        said = {"cluster": "default", "namespace": self.team, "queue": self.team}
        return self._add(
            Verb.CREATE, gpus=gpus, above=above, gpu_type=gpu_type, said=said, objects=[]
        )

    def remove(self) -> str:
        """Carol asks to remove it; the id of the row."""
        made = self.database.transaction(lambda s: s.get_one(SlackTeam, ("T0QM", self.team)))
        return self._add(Verb.REMOVE, said=made.said, objects=made.objects)

    def until(self, row_id: str, *phases: ChangePhase) -> TeamChange:
        """Takes steps until it has come so far."""

        def is_there() -> bool:
            step = self.controller.step(row_id)
            if step.save is not None:
                self.database.transaction(step.save)
            return self.row(row_id).phase in phases

        wait_for(is_there, f"{self.team} to be {phases}")
        return self.row(row_id)

    def row(self, row_id: str) -> TeamChange:
        return self.database.transaction(lambda session: session.get_one(TeamChange, row_id))

    def approve(self, row_id: str) -> None:
        """Erin approves."""
        by = Caller("T0QM", ERIN, "C0APPROVE", ChannelPlace.APPROVALS, None, frozenset())

        def work(session: Session) -> None:
            found = self.approvals.of(session, CHANGE, row_id)
            assert found is not None
            self.approvals.vote(session, found.id, by, Verdict.APPROVE, self.clock.now())

        self.database.transaction(work)

    def created(self, **asked: Any) -> TeamChange:
        """A team that is there."""
        row_id = self.create(**asked)
        row = self.until(row_id, ChangePhase.ASKED, ChangePhase.FAILED)
        assert row.phase == ChangePhase.ASKED, row.reason
        self.approve(row_id)
        row = self.until(row_id, ChangePhase.DONE, ChangePhase.FAILED)
        assert row.phase == ChangePhase.DONE, row.reason
        return row

    def removed(self) -> TeamChange:
        """The same team, gone."""
        row_id = self.remove()
        assert self.until(row_id, ChangePhase.ASKED, ChangePhase.FAILED).reason == ""
        self.approve(row_id)
        self.until(row_id, ChangePhase.CLOSING)
        self.clock.skip(seconds=20)
        return self.until(row_id, ChangePhase.DONE, ChangePhase.FAILED)

    def _add(self, verb: Verb, **fields: Any) -> str:
        now = self.clock.now()
        row = TeamChange(
            workspace_id="T0QM", verb=verb, team=self.team, person=CAROL, channel="C0APPROVE",
            cluster="default", namespace=self.team, queue=self.team, asked_at=now, since=now,
            **fields,
        )  # fmt: skip
        row_id = row.id
        self.database.transaction(lambda session: session.add(row))
        return row_id


def conditions(found: Object | None) -> dict[str, str]:
    assert found is not None
    return {each["type"]: each["status"] for each in found.get("status", {}).get("conditions", ())}


def test_team_on_kueue_admits_and_goes(
    plane: ControlPlane, site: Site, own_database: Database
) -> None:
    rig, flavor = Rig(plane, own_database, "kueue"), site.add_flavor()
    (checked,) = check_rights(rig.settings, rig.cluster, "default")
    assert checked.says == "all rights are granted"
    row = rig.created(gpu_type=flavor, above="gpus")
    assert row.checks == [
        "accepted by a dry run",
        "allowed; no dry run before its namespace exists",
        "accepted by a dry run",
        "allowed; no dry run before its namespace exists",
    ]
    api, name = rig.api, rig.team
    wait_for(lambda: conditions(api.get(CLUSTER_QUEUES, name)).get("Active") == "True", name)
    wait_for(lambda: conditions(api.get(LOCAL_QUEUES, name, name)).get("Active") == "True", name)
    binding = api.get(BINDINGS, "quartermaster-team", name)
    assert binding is not None
    assert [(each["name"], each["namespace"]) for each in binding["subjects"]] == [(BOT, BOT)]
    wait_for(lambda: rig.cluster.may("create", "batch", "jobs", namespace=name), "the bot's rights")
    assert rig.removed().phase == ChangePhase.DONE
    assert (api.get("namespaces", name), api.get(CLUSTER_QUEUES, name)) == (None, None)


def test_team_on_kai_has_a_queue(plane: ControlPlane, site: Site, own_database: Database) -> None:
    furnish(site)
    rig = Rig(plane, own_database, "kai")
    rig.created(above=ABOVE, gpu_type="default", gpus=6)
    queue = rig.api.get(QUEUES, rig.team)
    assert queue is not None
    assert queue["spec"]["resources"]["gpu"] == {"quota": 6, "limit": -1, "overQuotaWeight": 6}
    assert rig.removed().phase == ChangePhase.DONE
    assert rig.api.get(QUEUES, rig.team) is None


def test_team_without_engine_has_a_limit(plane: ControlPlane, own_database: Database) -> None:
    rig = Rig(plane, own_database, "none")
    rig.created(gpu_type="any", gpus=2)
    limit = rig.api.get("resourcequotas", rig.team, rig.team)
    assert limit is not None
    assert limit["spec"]["hard"] == {"requests.nvidia.com/gpu": "2"}
    assert rig.removed().phase == ChangePhase.DONE


@pytest.fixture
def bot(plane: ControlPlane) -> Iterator[Api]:
    """The API as the bot's service account has it; the plane's policies are in force."""
    deploy(plane.api, "team-creation/kueue.yaml")
    with Api.to(plane.bot_kubeconfig) as api:
        probe: Object = {"metadata": {"name": "probe"}}
        wait_for(lambda: "own labels" in refusal(api, "namespaces", probe), "the policy of teams")
        yield api


OURS = {labels.MANAGED_BY: labels.MANAGER, labels.INSTALLATION: "one", labels.TEAM: "a"}


def refusal(api: Api, resource: str, body: Object, namespace: str = "") -> str:
    """What the API server says to a new object, nothing when it takes it; nothing is made."""
    try:
        api.create(resource, body, namespace, dryRun="All")
    except ApiError as error:
        return str(error.body["message"])
    return ""


def binding(role: str, subject: str = BOT) -> Object:
    return {
        "metadata": {"name": "grab", "labels": OURS},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": subject, "namespace": BOT}],
    }


def test_roles_are_bound_in_own_namespaces_alone(bot: Api, site: Site) -> None:
    own, other = site.add_namespace(labels=OURS), site.add_namespace()
    role = "quartermaster-team"
    assert refusal(bot, BINDINGS, binding(role), own) == ""
    assert "in namespaces that carry its own labels" in refusal(bot, BINDINGS, binding(role), other)
    assert "own labels" in refusal(bot, BINDINGS, binding(role), "kube-system")
    assert "bind roles to itself alone" in refusal(bot, BINDINGS, binding(role, "eve"), own)
    for wide in ("cluster-admin", "edit"):
        assert "attempting to grant RBAC permissions" in refusal(bot, BINDINGS, binding(wide), own)


def test_own_namespaces_alone_are_deleted(bot: Api, site: Site) -> None:
    own, other = site.add_namespace(labels=OURS), site.add_namespace()
    bot.delete("namespaces", own)
    with pytest.raises(ApiError) as refused:
        bot.delete("namespaces", other)
    assert "that carry its own labels" in refused.value.body["message"]
