"""Containers that request no GPU see none, where NVIDIA's runtime is every container's."""

from typing import Any

import pytest

from bot.errors import UsageError
from bot.slack.grammar.container_parameters import EnvironmentVariable
from playground.cluster.control.expansion import environment_of
from tests.bot.training.rig import Rig
from tests.bot.training.submission.test_names import COMMAND, KINDS, full

__all__ = ["full"]
VISIBLE = "NVIDIA_VISIBLE_DEVICES"


@pytest.mark.parametrize("gpus", [0, 1])
@pytest.mark.parametrize("options", KINDS, ids=lambda options: "-".join(map(str, options.values())))
def test_only_containers_with_gpus_see_them(full: Rig, options: dict[str, Any], gpus: int) -> None:
    full.submit("lane", gpus=gpus, **(COMMAND | options))
    full.pass_time(minutes=2)
    containers = [pod["spec"]["containers"][0] for pod in full.world.list("pods", "team-a")]
    assert containers
    for each in containers:
        has_gpus = "nvidia.com/gpu" in each["resources"]["limits"]
        told = environment_of(each).get(VISIBLE)
        # The MPI operator empties it in launchers, which does the same.
        assert told is None if has_gpus else told in {"void", ""}


@pytest.mark.parametrize("gpus", [0, 1])
def test_nobody_helps_themselves_to_gpus(rig: Rig, gpus: int) -> None:
    with pytest.raises(UsageError) as refused:
        rig.submit(gpus=gpus, env=(EnvironmentVariable(VISIBLE, "all"),))
    assert refused.value.message == (
        f"{VISIBLE} sets which GPUs of its node a container gets, also those of others."
    )
