"""Manifests for GitOps: a new base quota, and what goes with a team; nothing is changed."""

from copy import deepcopy
from decimal import Decimal
from typing import Any

import pytest
import yaml
from sqlmodel import Session

from bot.audit import lines_about
from bot.errors import UserError
from bot.quotas.engines.registry import Engines
from bot.quotas.overrides.request import OverrideRequest
from bot.quotas.service import QuotaService
from bot.quotas.tables import ManagedQuota
from bot.slack.card import Card, Reply
from bot.slack.grammar.parameters import Amount
from bot.teams.reads import TeamReads
from playground.cluster.objects.kinds import RESOURCE_QUOTA, Object
from tests.bot.ground import CAROL
from tests.bot.teams.teaming import APPROVALS, Teaming
from tests.bot.teams.test_checking import RUNAI

TWELVE, FOUR_MORE = Amount(12, relative=False), Amount(4, relative=True)


class Patches:
    """What Carol is given for GitOps."""

    def __init__(self, rig: Teaming) -> None:
        self.rig = rig
        engines = Engines(rig.settings, rig.clusters)
        quotas = QuotaService(rig.settings, rig.access, rig.approvals, engines)
        self.reads = TeamReads(
            rig.settings, rig.access, rig.clusters, quotas, rig.teams, rig.stores
        )

    def quota(self, amount: Amount = TWELVE, team: str = "vision") -> Card:
        request, by, now = OverrideRequest(team, amount, "more"), self._carol, self._now
        self.rig.look()
        return self._card(self.rig.do(lambda s: self.reads.quota_patch(s, by, request, now)))

    def removal(self, team: str = "vision") -> Card:
        by, now = self._carol, self._now
        self.rig.look()
        return self._card(self.rig.do(lambda s: self.reads.removal_patch(s, by, team, now)))

    def handover(self, team: str = "vision") -> Card:
        by, now = self._carol, self._now
        return self._card(self.rig.do(lambda s: self.reads.handover(s, by, team, now)))

    @property
    def _carol(self) -> Any:
        return self.rig.caller(CAROL, APPROVALS)

    @property
    def _now(self) -> Any:
        return self.rig.clock.now()

    def _card(self, reply: Reply) -> Card:
        """The answer, which leaves the cluster as it was."""
        before = self.rig.effects()
        assert reply.later is not None
        card = reply.later().card
        assert card is not None
        assert self.rig.effects() == before
        return card


def objects(card: Card) -> list[Object]:
    return [each for each in yaml.safe_load_all(card.document) if each is not None]


def named(card: Card) -> list[tuple[str, str, str | None]]:
    return [
        (each["kind"], each["metadata"]["name"], each["metadata"].get("namespace"))
        for each in objects(card)
    ]


def told(card: Card) -> list[str]:
    return [str(line) for line in card.lines]


def test_new_quota_is_the_whole_manifest(teaming: Teaming) -> None:
    teaming.created(gpus=8, above="gpus")
    card = Patches(teaming).quota()
    said = "Commit ClusterQueue vision in place of yours: nominal quota 8 → 12 GPUs of h100."
    assert card.title == "New quota of team vision"
    assert told(card) == [f"Nothing was changed. {said}"]
    (found,) = objects(card)
    there = deepcopy(teaming.found("clusterqueues"))
    there["spec"]["resourceGroups"][0]["flavors"][0]["resources"][2]["nominalQuota"] = "12"
    assert found == {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "vision"},
        "spec": there["spec"],
    }
    assert [(each.verb, each.person, each.facts) for each in audited(teaming)] == [
        ("team.patch", CAROL, {"change": "set"})
    ]


def audited(rig: Teaming, team: str = "vision") -> Any:
    return rig.do(lambda session: lines_about(session, team))


def test_quota_of_an_override_is_not_committed(teaming: Teaming) -> None:
    teaming.created(gpus=8, above="gpus")
    spec = deepcopy(teaming.found("clusterqueues")["spec"])
    spec["resourceGroups"][0]["flavors"][0]["resources"][2] |= {
        "nominalQuota": "20", "borrowingLimit": "9",
    }  # fmt: skip
    teaming.world.patch("clusterqueues", "vision", {"spec": spec})
    raised = {"nominalQuota": (8, 20), "borrowingLimit": (3, 9)}

    def raise_quotas(session: Session) -> None:
        """As overrides leave them."""
        for field, (base, now) in raised.items():
            session.add(
                ManagedQuota(workspace_id="T0QM", cluster="default", queue="vision", flavor="h100",
                             resource="nvidia.com/gpu", field=field, baseline=Decimal(base),
                             last_written=Decimal(now))
            )  # fmt: skip

    teaming.do(raise_quotas)
    card = Patches(teaming).quota(FOUR_MORE)
    (found,) = objects(card)
    gpus = found["spec"]["resourceGroups"][0]["flavors"][0]["resources"][2]
    assert (gpus["nominalQuota"], gpus["borrowingLimit"]) == ("12", "3")
    assert told(card)[0].endswith("nominal quota 8 → 12 GPUs of h100.")
    assert told(card)[1] == (
        "An override is in force on it; these values are without it. Apply them after it has ended:"
        " before that, its card reports a change from outside, and asks which value counts."
    )


def test_limit_on_kai_moves_with_the_quota(on_kai: Teaming) -> None:
    on_kai.created(gpus=6)
    spec = deepcopy(on_kai.found("queues")["spec"])
    spec["resources"]["gpu"] |= {"quota": 6, "limit": 10}
    on_kai.world.patch("queues", "vision", {"spec": spec})
    (found,) = objects(Patches(on_kai).quota())
    assert found["kind"] == "Queue"
    assert found["spec"]["parentQueue"] == "research"
    assert found["spec"]["resources"]["gpu"] == {"quota": 12, "limit": 16, "overQuotaWeight": 6}


def test_resource_quota_is_written_without_an_engine(on_none: Teaming) -> None:
    on_none.created(gpus=2)

    def count(limit: Object) -> None:
        """As kube-controller-manager does."""
        limit.update(status={"hard": limit["spec"]["hard"], "used": {}})

    on_none.world.inside.world.change(RESOURCE_QUOTA, ("vision", "vision"), count)
    (found,) = objects(Patches(on_none).quota(FOUR_MORE))
    assert (found["kind"], found["metadata"]) == (
        "ResourceQuota", {"name": "vision", "namespace": "vision"},
    )  # fmt: skip
    assert found["spec"] == {"hard": {"requests.nvidia.com/gpu": "6"}}


def test_quota_that_is_set_already_is_refused(teaming: Teaming) -> None:
    teaming.created(gpus=12)
    with pytest.raises(UserError) as caught:
        Patches(teaming).quota()
    assert caught.value.message == "vision already has 12 GPUs of h100."
    assert audited(teaming) == []


def test_objects_are_listed_in_the_order_to_delete(teaming: Teaming) -> None:
    teaming.created()
    card = Patches(teaming).removal()
    assert named(card) == [
        ("LocalQueue", "vision", "vision"),
        ("ClusterQueue", "vision", None),
        ("RoleBinding", "quartermaster-team", "vision"),
        ("Namespace", "vision", None),
    ]
    assert told(card) == [
        (
            "Nothing was changed. Delete these objects in this order: those that need others come"
            " first. Everything else in the namespace is deleted with it."
        ),
        "It was created in Slack: `/team remove vision` deletes these and the setting.",
    ]
    assert [each.facts for each in audited(teaming)] == [{"change": "remove"}]


def test_team_of_the_file_can_leave_by_gitops(on_kai: Teaming) -> None:
    card = Patches(on_kai).removal("team-a")
    assert named(card) == [("Queue", "team-a", None), ("Namespace", "team-a", None)]
    assert told(card)[1:] == [
        "Remove `teams.team-a` from quartermaster.yaml first, so that nothing new starts.",
        "It is still in use. It has 2 PVCs: imagenet, team-a-data. End or delete these before.",
    ]


def test_what_another_team_uses_is_not_listed(teaming: Teaming) -> None:
    in_file = {name: team.model_dump() for name, team in teaming.policy.teams.items()}
    beside = {"team-z": {"namespace": "team-z", "queue": "team-z"}}
    teaming.policy = teaming.told(teams={**in_file, **beside})
    teaming.world.create("namespaces", {"metadata": {"name": "team-z"}})
    local = {"metadata": {"name": "team-z"}, "spec": {"clusterQueue": "team-a"}}
    teaming.world.create("localqueues", local, "team-z")
    card = Patches(teaming).removal("team-z")
    assert named(card) == [("LocalQueue", "team-z", "team-z"), ("Namespace", "team-z", None)]
    assert "# ClusterQueue team-a stays: team team-a uses it.\n" in card.document


def test_quotas_in_a_service_are_no_manifests(teaming: Teaming) -> None:
    teaming.policy = teaming.told(clusters={"default": {"engine": "runai", "runai": RUNAI}})
    for ask in (Patches(teaming).quota, Patches(teaming).removal):
        with pytest.raises(UserError) as caught:
            ask(team="team-a")
        assert (caught.value.message, caught.value.hint) == (
            (
                "The quotas of cluster default are in Run:ai's control plane, so there is nothing"
                " to commit."
            ),
            "Leave out `--as-patch`, or change the project there.",
        )
    assert audited(teaming, "team-a") == []


def test_team_of_slack_moves_into_the_file(teaming: Teaming) -> None:
    teaming.created(members=("U0ALICE",))
    card = Patches(teaming).handover()
    assert [kind for kind, _, _ in named(card)] == [
        "Namespace", "RoleBinding", "ClusterQueue", "LocalQueue",
    ]  # fmt: skip
    assert "quartermaster.dev" not in card.document
    comment = card.document.partition("# quartermaster.yaml:\n")[2]
    entry = yaml.safe_load(
        "".join(line.removeprefix("# ") for line in comment.splitlines(keepends=True))
    )
    team_a = teaming.policy.teams["team-a"].model_dump()
    before = teaming.settings().teams["vision"]
    teaming.policy = teaming.told(teams={"team-a": team_a, **entry["teams"]})
    after = teaming.settings().teams["vision"]
    assert after == before.model_copy(update={"handed_over": True})
    with pytest.raises(UserError) as caught:
        Patches(teaming).handover()
    assert caught.value.message == (
        "Team vision is set in quartermaster.yaml, so there is nothing to hand over."
    )


def test_unknown_team_has_nothing_to_delete(teaming: Teaming) -> None:
    with pytest.raises(UserError) as caught:
        Patches(teaming).removal("visoin")
    assert caught.value.message == "There is no team visoin."
