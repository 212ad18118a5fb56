"""Which kind is meant, and whether it knows what was asked."""

from decimal import Decimal

import pytest

from bot.errors import ConflictError, UsageError
from bot.slack.grammar.parameters import Nodes
from bot.training.kinds import KINDS, NAMES, gpus_of, requests_of
from bot.training.kinds.choosing import choose, chosen_nodes
from bot.training.kinds.job import JobKind
from bot.training.spec import RunSpec
from tests.bot.training.rig import IMAGE, Rig


def test_no_form_means_the_usual_one() -> None:
    assert choose("job", None, {"nodes": None}) == JobKind()


def test_every_kind_has_a_usual_form() -> None:
    assert [name for name in NAMES if (name, "") not in KINDS] == []


def test_an_option_of_other_kinds_is_refused() -> None:
    with pytest.raises(UsageError) as refused:
        choose("job", None, {"nodes": 2})
    assert refused.value.message == "`--nodes` does not apply to `--kind job`."


def test_a_range_of_nodes_is_for_elastic_runs() -> None:
    assert chosen_nodes(choose("elastic", None, {}), Nodes(1, 3)) == (1, 3)
    assert chosen_nodes(choose("mpi", None, {}), Nodes(3, 3)) == (3, 3)
    assert chosen_nodes(choose("job", None, {}), None) == (1, 1)
    with pytest.raises(UsageError) as refused:
        chosen_nodes(choose("mpi", None, {}), Nodes(1, 3))
    assert refused.value.message == (
        "Runs of `--kind mpi` keep the nodes they start with, so `--nodes 1:3` does not apply."
    )
    assert refused.value.hint == (
        "Use `--nodes 3`, or a kind that can change them: `--kind elastic`, `--kind elastic` with"
        " `--form pytorchjob`."
    )


def test_a_form_that_the_kind_lacks_is_refused() -> None:
    with pytest.raises(UsageError) as refused:
        choose("job", "deployment", {})
    assert refused.value.message == "`--form` does not apply to `--kind job`."


def test_a_cluster_without_the_root_is_named(rig: Rig) -> None:
    rig.cluster.view.store(JobKind().root.resource).absent = True
    with pytest.raises(ConflictError) as refused:
        rig.submit()
    assert refused.value.message == "Cluster default does not serve jobs."


def test_a_run_requests_what_its_pods_do() -> None:
    spec = RunSpec(image=IMAGE, gpus=Decimal(2), cpu="16", memory="128Gi", shm="16Gi")
    assert gpus_of(spec) == 2
    assert {name: f"{amount:f}" for name, amount in requests_of(spec).items()} == {
        "cpu": "16",
        "memory": str(144 * 2**30),
        "nvidia.com/gpu": "2",
    }
