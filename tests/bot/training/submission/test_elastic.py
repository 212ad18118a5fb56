"""Elastic runs in a cluster over HTTP: on as many nodes as there are."""

from typing import Any

import pytest

from bot.config import Settings
from bot.errors import ConflictError
from bot.quotas.engines.registry import Engines
from bot.slack.grammar.container_parameters import EnvironmentVariable
from bot.slack.grammar.parameters import Nodes
from bot.training.service import TrainingService
from bot.training.spec import spec_of
from bot.training.submission.building import Submission, fill_in
from bot.training.tables import RunPhase
from playground.cluster.control.training import Training
from tests.bot.ground import INSTALLATION
from tests.bot.training.rig import IMAGE, Rig


def submit(rig: Rig, fewest: int = 1, most: int = 3, **more: Any) -> str:
    return rig.submit("wide", kind="elastic", nodes=Nodes(fewest, most), **more)


def test_an_elastic_run_succeeds_with_all_its_nodes(rig: Rig) -> None:
    run_id = submit(rig)
    rig.pass_time(seconds=60)
    job = rig.job(run_id)
    assert (job["spec"]["parallelism"], job["status"]["ready"]) == (3, 3)
    assert rig.world.get("services", f"hosts-{rig.get(run_id).job_name}", "team-a") is not None
    rig.pass_time(minutes=10)
    assert rig.get(run_id).phase == RunPhase.SUCCEEDED
    assert rig.effects() == ["create jobs", "create services", "delete services"]


def test_nodes_of_ended_pods_stay_on_the_card(rig: Rig) -> None:
    run_id = submit(rig, 2, 2, gpus=6)
    name = rig.get(run_id).job_name
    rig.world.behaviours[f"{name}-0"] = Training(epochs=1, seconds_per_epoch=60)
    rig.world.behaviours[f"{name}-1"] = Training(epochs=1, seconds_per_epoch=20)
    rig.pass_time(seconds=40)
    assert (rig.get(run_id).phase, rig.get(run_id).nodes) == (RunPhase.RUNNING, ["gpu-1", "gpu-2"])
    rig.pass_time(minutes=2)
    assert (rig.get(run_id).phase, rig.get(run_id).nodes) == (
        RunPhase.SUCCEEDED,
        ["gpu-1", "gpu-2"],
    )


def test_a_queue_without_fabric_is_told_before(rig: Rig) -> None:
    with pytest.raises(ConflictError) as refused:
        submit(rig, efa=4)
    assert refused.value.message == (
        "ClusterQueue team-a does not cover vpc.amazonaws.com/efa and hugepages-2Mi, so Kueue would"
        " never admit this run."
    )
    assert refused.value.hint == (
        "A platform admin has to add them to the queue's coveredResources or, if Kueue ignores"
        " them, to `excluded_resources` in quartermaster.yaml."
    )


def test_fabric_that_kueue_leaves_out_is_requested(rig: Rig) -> None:
    excluded = {"excluded_resources": ["vpc.amazonaws.com/", "hugepages-"]}
    rig.policy = Settings.model_validate(
        rig.policy.model_dump() | {"clusters": {"default": excluded}}
    )
    engines = Engines(rig.settings, rig.clusters)
    rig.service = TrainingService(
        rig.settings, engines.get, INSTALLATION, rig.words, rig.run_snapshots
    )
    spec = spec_of(rig.get(submit(rig, efa=4)))
    assert spec.fabric_requested == {"vpc.amazonaws.com/efa": "4", "hugepages-2Mi": "5120Mi"}
    assert spec.env == (EnvironmentVariable("FI_PROVIDER", "efa"),)


def test_a_provider_of_ones_own_stays(rig: Rig) -> None:
    mine = EnvironmentVariable("FI_PROVIDER", "tcp")
    asked = Submission("lane", IMAGE, kind="mpi", efa=1, env=(mine,))
    assert fill_in(asked, rig.policy.teams["team-a"], "nvidia.com/gpu").env == (mine,)
