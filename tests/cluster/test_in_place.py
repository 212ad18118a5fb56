"""A PVC is put back in place on a real control plane, with the bot's own rights.

A test plays Trident, whose kind is a definition made by hand, as is that of snapscheduler.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from tests.cluster.api import Api
from tests.cluster.bots import RealStory, opened_story
from tests.cluster.control_plane import ControlPlane
from tests.cluster.csi import CLASS, Driver, driving
from tests.cluster.definitions import define
from tests.cluster.site import Site

CLAIM, TRIDENT = "results", "csi.trident.netapp.io"
_CLAIMS = "persistentvolumeclaims"
_ACTIONS = "tridentactionsnapshotrestores.trident.netapp.io"
_LOOK_SECONDS = 0.3
_APPROVED = {"approvals": {"snapshot_restore": {"approvers": {"people": ["U0CAROL"]}}}}


@contextmanager
def _restoring(api: Api, actions: str) -> Iterator[list[str]]:
    """Plays Trident's controller; the snapshots that it went back to."""
    stopped, done = Event(), list[str]()

    def play() -> None:
        while not stopped.wait(_LOOK_SECONDS):
            for each in api.list(actions, "team-a"):
                if not each.get("status", {}).get("state"):
                    done.append(each["spec"]["volumeSnapshotName"])
                    status = {"state": "Succeeded", "completionTime": "2026-11-22T08:00:00Z"}
                    api.patch(actions, each["metadata"]["name"], {"status": status}, "team-a")

    thread = Thread(target=play, name="trident", daemon=True)
    thread.start()
    try:
        yield done
    finally:
        stopped.set()
        thread.join()


def test_a_pvc_is_put_back_in_place(plane: ControlPlane, site: Site, tmp_path: Path) -> None:
    for name, quota in (("team-a", "4"), ("team-b", "8")):
        site.add_team(quota, name)
    api, trident = plane.api, "trident.netapp.io"
    actions = define(
        api, site, trident, "tridentactionsnapshotrestores", "TridentActionSnapshotRestore"
    )
    schedules = define(api, site, "snapscheduler.backube", "snapshotschedules", "SnapshotSchedule")
    spec = {"schedule": "0 3 * * *", "claimSelector": {}}
    api.create(schedules, {"metadata": {"name": "nightly"}, "spec": spec}, "team-a")

    async def play() -> None:
        async with opened_story(plane, tmp_path, _APPROVED) as story:
            await _told(story)

    with driving(api, site, "team-a", Driver(TRIDENT)), _restoring(api, actions) as done:
        site.add_claim("team-a", CLAIM, "1Gi", storageClassName=CLASS)
        asyncio.run(play())
        assert len(done) == 1
        assert done[0].startswith(f"{CLAIM}-")


async def _told(story: RealStory) -> None:
    story.allowed_writes |= {"create volumesnapshots"}
    story.allowed_writes |= {f"{v} tridentactionsnapshotrestores" for v in ("create", "delete")}
    alice, carol = story.person("Alice"), story.person("Carol")
    await alice.types("#team-a", f"/snapshot list {CLAIM}")
    await alice.is_told("nightly")
    await alice.types("#team-a", f"/snapshot create {CLAIM}")
    await alice.is_told(f"{CLAIM}-")
    taken = await story.card("#team-a", f"Snapshot {CLAIM}-")
    await taken.shows("Ready")
    await alice.is_mentioned("#team-a", f"The snapshot of {CLAIM} is ready", thread=taken)
    await alice.types("#team-a", f'/snapshot restore {CLAIM} --in-place --reason "a bad clean-up"')
    offer = await alice.is_told(f"This reverts PVC {CLAIM} itself to {CLAIM}-")
    assert offer is not None
    await alice.clicks(offer, "Request without a clone")
    await alice.is_told(f"Requested to revert {CLAIM} to {CLAIM}-")
    request = await story.card("#gpu-approvals", f"Revert PVC {CLAIM} to {CLAIM}-")
    own = await story.card("#team-a", f"Revert PVC {CLAIM} to {CLAIM}-")
    await carol.clicks(request, "Approve")
    await carol.is_told("You approved this request.")
    await own.shows("Reverted")
    await alice.is_mentioned("#team-a", f"PVC {CLAIM} was reverted to {CLAIM}-", thread=own)
    await story.until(
        lambda: not story.objects(_ACTIONS, "team-a"), lambda: "what asked Trident is still there"
    )
    await story.ends()
