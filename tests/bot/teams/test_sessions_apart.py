"""Teams that are created with GPUs for their sessions alone."""

from typing import Any

import pytest

from bot.errors import UserError
from bot.quotas.engines.kai.doctor_checks import check_teams
from bot.teams.tables import ChangePhase
from tests.bot.teams.teaming import OnKai, OnNone, Teaming

POOL = "kai.scheduler/node-pool"


def test_queue_of_sessions_on_kueue_shares_nothing(teaming: Teaming) -> None:
    row_id = teaming.created(gpus=8, above="gpus", interactive_gpus=2)
    assert teaming.row(row_id).phase == ChangePhase.DONE
    assert "Quota 8 GPUs of h100, in gpus; 2 of h100 for sessions alone" in teaming.card(row_id)
    assert teaming.found("clusterqueues")["spec"]["cohortName"] == "gpus"
    spec = teaming.found("clusterqueues", "vision-sessions")["spec"]
    assert "cohortName" not in spec
    assert spec["preemption"]["withinClusterQueue"] == "Never"
    (flavor,) = spec["resourceGroups"][0]["flavors"]
    assert {each["name"]: each["nominalQuota"] for each in flavor["resources"]} == {
        "cpu": "9000", "memory": "36000Gi", "nvidia.com/gpu": "2",
    }  # fmt: skip
    local = teaming.found("localqueues", "vision-sessions", "vision")
    assert local["spec"]["clusterQueue"] == "vision-sessions"
    team = teaming.settings().teams["vision"]
    assert (team.queue, team.interactive_queue) == ("vision", "vision-sessions")


def test_sessions_can_have_nodes_of_their_own(teaming: Teaming) -> None:
    flavor = {"metadata": {"name": "h100-sessions"}, "spec": {"nodeLabels": {"use": "sessions"}}}
    teaming.world.create("resourceflavors", flavor)
    teaming.created(gpu_type="h100", interactive_gpus=2, interactive_type="h100-sessions")
    flavors = {
        name: teaming.found("clusterqueues", name)["spec"]["resourceGroups"][0]["flavors"][0][
            "name"
        ]
        for name in ("vision", "vision-sessions")
    }
    assert flavors == {"vision": "h100", "vision-sessions": "h100-sessions"}


def test_queue_of_sessions_on_kai_has_a_limit(on_kai: OnKai) -> None:
    row_id = on_kai.created(gpus=6, interactive_gpus=2)
    assert on_kai.row(row_id).phase == ChangePhase.DONE
    queue = on_kai.found("queues", "vision-sessions")
    assert queue["spec"]["parentQueue"] == "research"
    assert queue["spec"]["resources"]["gpu"] == {"quota": 2, "limit": 2, "overQuotaWeight": 2}
    assert on_kai.found("queues")["spec"]["resources"]["gpu"]["limit"] == -1


def test_sessions_on_kai_have_parent_in_node_pool(on_kai: OnKai) -> None:
    """The scheduler of a node pool sees its Queues alone, and drops those without a parent."""
    pool = {"metadata": {"name": "lab", "labels": {POOL: "a100"}}, "spec": {}}
    on_kai.world.create("queues", pool)
    with pytest.raises(UserError) as caught:
        on_kai.create(interactive_gpus=2, interactive_type="a100")
    assert (caught.value.message, caught.value.hint) == (
        "There is no parent Queue research-a100 in node pool a100.",
        (
            "A platform admin can create it, with the label kai.scheduler/node-pool: a100. Or leave"
            " out `--interactive-type`."
        ),
    )
    pool["metadata"]["name"] = "research-a100"
    on_kai.world.create("queues", pool)
    row_id = on_kai.created(gpus=6, interactive_gpus=2, interactive_type="a100")
    assert on_kai.row(row_id).phase == ChangePhase.DONE
    queue = on_kai.found("queues", "vision-sessions")
    assert queue["metadata"]["labels"][POOL] == "a100"
    assert queue["spec"]["parentQueue"] == "research-a100"
    assert on_kai.found("queues")["spec"]["parentQueue"] == "research"


def test_sessions_are_no_gpu_type_of_training(on_kai: OnKai) -> None:
    """KAI's Queue NAME-POOL is the team's in that node pool."""
    pool = {"metadata": {"name": "research-sessions", "labels": {POOL: "sessions"}}, "spec": {}}
    on_kai.world.create("queues", pool)
    with pytest.raises(UserError) as caught:
        on_kai.create(interactive_gpus=2, interactive_type="sessions")
    assert (caught.value.message, caught.value.hint) == (
        (
            "Queue vision-sessions in node pool sessions would take vision's training, too, as its"
            " GPU type sessions."
        ),
        "Leave out `--interactive-type`, or use a node pool of another name.",
    )


def test_doctor_finds_parent_in_another_pool(on_kai: OnKai) -> None:
    apart = {"metadata": {"name": "apart", "labels": {POOL: "a100"}},
             "spec": {"parentQueue": "research"}}  # fmt: skip
    on_kai.world.create("queues", apart)
    team = on_kai.policy.teams["team-a"].model_copy(update={"interactive_queue": "apart"})
    findings = list(check_teams({"team-a": team}, on_kai.cluster, "team"))
    assert [each.state for each in findings] == ["ok", "failed"]
    assert (findings[1].says, findings[1].remedy) == (
        "Queue apart has no parent in node pool a100",
        "Set its parentQueue to an existing Queue of that pool.",
    )


def test_sessions_on_kai_return_to_default_pool(on_kai: OnKai) -> None:
    pool = {"metadata": {"name": "research-a100", "labels": {POOL: "a100"}}, "spec": {}}
    on_kai.world.create("queues", pool)
    on_kai.created(gpu_type="a100", interactive_gpus=2, interactive_type="default")
    queue = on_kai.found("queues", "vision-sessions")
    assert POOL not in queue["metadata"]["labels"]
    assert queue["spec"]["parentQueue"] == "research"


def test_removal_deletes_both_queues(teaming: Teaming) -> None:
    teaming.created(interactive_gpus=2)
    row_id = teaming.remove()
    teaming.pass_time(seconds=10)
    teaming.decides(row_id)
    teaming.pass_time(minutes=3)
    assert teaming.row(row_id).phase == ChangePhase.DONE
    assert not {"vision", "vision-sessions"} & set(teaming.names("clusterqueues"))


@pytest.mark.parametrize(
    ("asked", "message", "hint"),
    [
        (
            {"interactive_gpus": 0, "interactive_type": "h100"},
            "`--interactive-type` is the GPU type of `--interactive-gpus`, which is missing.",
            "Add for example `--interactive-gpus 2`.",
        ),
        (
            {"interactive_type": "a100"},
            "There is no ResourceFlavor a100 in this cluster.",
            "There is: h100.",
        ),
        (
            {"queue": "q" * 60},
            (
                "Team vision does not fit the settings: interactive_queue: Value error, it must be"
                " a name of lower-case letters, digits and hyphens, at most 63 characters."
            ),
            "Change that, for example the channel or the namespace.",
        ),
    ],
)
def test_sessions_that_cannot_be_apart_are_refused(
    teaming: Teaming, asked: dict[str, Any], message: str, hint: str
) -> None:
    with pytest.raises(UserError) as caught:
        teaming.create(**({"interactive_gpus": 2} | asked))
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_namespaces_alone_keep_nothing_apart(on_none: OnNone) -> None:
    with pytest.raises(UserError) as caught:
        on_none.create(gpus=4, interactive_gpus=2)
    assert caught.value.message == (
        "`--interactive-gpus` has no meaning in a cluster without a quota engine."
    )
