"""A run's end is kept, and gone on from, on a real control plane with the bot's own rights."""

import asyncio
from pathlib import Path

import pytest

from playground.story.steps import ends_well, is_admitted, submits
from tests.cluster.bots import RealStory, opened_story
from tests.cluster.control_plane import ControlPlane
from tests.cluster.csi import CLASS, GROUP, TAKEN, driving
from tests.cluster.site import Site

CLAIM = "results"
_CLAIMS = "persistentvolumeclaims"
_COMMAND = "--image ghcr.io/acme/lane:3.1 --gpus 1 --env TEST_SECONDS=2s"


@pytest.mark.usefixtures("gpus")
def test_a_run_goes_on_from_its_snapshot(plane: ControlPlane, site: Site, tmp_path: Path) -> None:
    for name, quota in (("team-a", "4"), ("team-b", "8")):
        site.add_team(quota, name)

    async def play() -> None:
        async with opened_story(plane, tmp_path) as story:
            await _told(story)

    with driving(plane.api, site, "team-a"):
        site.add_claim("team-a", CLAIM, "1Gi", storageClassName=CLASS)
        asyncio.run(play())
        _is_in_the_cluster(plane)


async def _told(story: RealStory) -> None:
    story.allowed_writes |= {f"create {_CLAIMS}", "create volumesnapshots"}
    alice = story.person("Alice")
    options = f"--pvc {CLAIM}:/out --snapshot {CLAIM} -- python train.py"
    run = await submits(story, alice, "#team-a", "fit", f"{_COMMAND} {options}")
    await is_admitted(story, run)
    await ends_well(alice, "#team-a", run, "fit")
    kept = await story.card("#team-a", f"Snapshot {CLAIM}-")
    await kept.shows("Ready", "fit")
    await story.reply(run, f"The snapshot of {CLAIM} at the end of fit is ready")
    await alice.types("#team-a", "/train resubmit fit --from-snapshot")
    await alice.is_told("Submitted run fit#2 with", "It starts from snapshot")
    again = await story.card("#team-a", "fit#2", "Image")
    made = await story.card("#team-a", f"PVC {CLAIM}-")
    await made.shows("Ready", "run fit#2")
    await story.reply(again, f"holds the data of snapshot {CLAIM}-")
    await is_admitted(story, again)
    await ends_well(alice, "#team-a", again, "fit#2")
    last = await story.card("#team-a", f"Snapshot {CLAIM}-")
    await last.shows("Ready", "fit#2")
    await story.reply(again, "at the end of fit#2 is ready")
    await story.ends()


def _is_in_the_cluster(plane: ControlPlane) -> None:
    """One PVC is made from the first snapshot, and the second run's pod mounts it."""
    first, second = sorted(
        plane.api.list(TAKEN, "team-a"), key=lambda each: str(each["metadata"]["creationTimestamp"])
    )
    made = second["spec"]["source"]["persistentVolumeClaimName"]
    claims = {each["metadata"]["name"]: each for each in plane.api.list(_CLAIMS, "team-a")}
    assert set(claims) == {CLAIM, made}
    source = {"apiGroup": GROUP, "kind": "VolumeSnapshot", "name": first["metadata"]["name"]}
    assert claims[made]["spec"]["dataSourceRef"] == source
    mounted = [
        [v.get("persistentVolumeClaim", {}).get("claimName") for v in pod["spec"]["volumes"]]
        for pod in plane.api.list("pods", "team-a")
    ]
    assert sum(made in each for each in mounted) == 1
