"""`quartermaster doctor` with the rights of deploy/ on a real control plane."""

import asyncio
import sys
from pathlib import Path

import pytest

from tests.cluster.bots import opened_story
from tests.cluster.control_plane import ControlPlane
from tests.cluster.site import CLUSTER_QUEUES, Site

ROOT = Path(__file__).parents[2]


@pytest.mark.usefixtures("gpus")
def test_doctor_finds_all_rights_and_queues(
    plane: ControlPlane, site: Site, tmp_path: Path
) -> None:
    for name, quota in (("team-a", "4"), ("team-b", "8")):
        site.add_team(quota, name)
    said = asyncio.run(_examined(plane, tmp_path))
    found = [line for line in said.splitlines() if "cluster default" in line]
    # Classes of snapshots that other tests left have a line each, too.
    known = [line for line in found if " snapshots of " not in line]
    assert [line.split(None, 1)[0] for line in found] == ["ok"] * len(found), said
    assert (len(known), sum(line.endswith("are granted") for line in known)) == (9, 2), said


async def _examined(plane: ControlPlane, out: Path) -> str:
    async with opened_story(plane, out) as story:
        bot = story.world.bot
        doctor = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bot", "doctor", "--config", str(bot.config)),
            env={"PYTHONPATH": str(ROOT), **bot.environment},
            stdout=asyncio.subprocess.PIPE,
        )
        said, _ = await doctor.communicate()
        return said.decode()


@pytest.mark.usefixtures("gpus")
def test_doctor_warns_of_a_multikueue_queue(
    plane: ControlPlane, site: Site, tmp_path: Path
) -> None:
    check = {"controllerName": "kueue.x-k8s.io/multikueue"}
    site.add("admissionchecks.kueue.x-k8s.io", {"metadata": {"name": "fleet"}, "spec": check})
    for name, quota in (("team-a", "4"), ("team-b", "8")):
        site.add_team(quota, name)
    strategy = {"admissionChecks": [{"name": "fleet", "onFlavors": []}]}
    plane.api.patch(CLUSTER_QUEUES, "team-b", {"spec": {"admissionChecksStrategy": strategy}})
    said = asyncio.run(_examined(plane, tmp_path))
    warned = [line for line in said.splitlines() if "MultiKueue, AdmissionCheck fleet" in line]
    assert [line.split(":")[0] for line in warned] == ["warning  cluster default team-b"], said
