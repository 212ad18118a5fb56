"""A team looks at its PVCs and their cost; one grows, one is copied, one deleted once approved."""

import sys

from playground.arm.estate import GIB, Estate
from playground.arm.trident import Wanted, provision, storage_class
from playground.bucket import WORKER_IMAGE
from playground.cluster.cluster import Cluster
from playground.cluster.story import claim, snapshot_class
from playground.settings import Setup
from playground.slack.workspace import Workspace
from playground.story.person import Person
from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story

WRITER = "ghcr.io/acme/writer:1.0"
_WRITE = """
import pathlib, sys
(pathlib.Path(sys.argv[1]) / "labels.csv").write_text("labels")
print("wrote labels")
"""


def _arrange(cluster: Cluster, _workspace: Workspace) -> None:
    cluster.programs.images[WRITER] = (sys.executable, "-c", _WRITE, "/data")
    cluster.install("snapshots")
    cluster.create("volumesnapshotclasses", snapshot_class())
    body = claim("scratch", "100Gi")
    body["spec"]["accessModes"] = ["ReadWriteOnce"]
    cluster.create("persistentvolumeclaims", body, "team-a")


def _arranged(cluster: Cluster, estate: Estate) -> None:
    premium = estate.add_pool(estate.add_account(), "premium-1", "Premium", 2)
    cluster.create("storageclasses", storage_class())
    provision(cluster, estate, premium, Wanted("team-a", "lane-data", 1024)).used = 230 * GIB


SETUP = Setup(
    arrange=_arrange,
    azure=_arranged,
    settings={
        "pvcs": {"copies": {"image": WORKER_IMAGE}},
        "leftovers": {"approve_above_gib": 1536},
        "approvals": {"removal": {"approvers": {"people": ["U0CAROL"]}}},
    },
)


async def play(story: Story) -> None:
    """Listed, written to, kept, restored, and each shown with where it is from."""
    story.allowed_writes |= {"create persistentvolumeclaims", "create volumesnapshots"}
    story.allowed_writes |= {f"{each} persistentvolumeclaims" for each in ("patch", "delete")}
    story.allowed_writes |= {"create jobs", "delete jobs"}
    alice, bob = story.person("Alice"), story.person("Bob")
    await _is_listed(alice)
    run = await submits(story, alice, "#team-a", "labels", f"--image {WRITER} --pvc imagenet:/data")
    await is_admitted(story, run)
    await run.shows("wrote labels")
    await ends_well(alice, "#team-a", run, "labels")
    await _is_restored(story, alice)
    await alice.types("#team-a", "/pvc show monday")
    await alice.is_told("PVC monday · Bound", "Created from", "of imagenet, by @Alice")
    await alice.types("#team-a", "/pvc show imagenet")
    await alice.is_told(
        "PVC imagenet · Bound",
        "Mounted by",
        "no pod now",
        "labels: Succeeded in",
        "Copies",
        "monday",
    )
    await bob.types("#team-b", "/pvc show monday")
    await bob.is_told("There is no PVC monday in namespace team-b.")
    await _grows(story, alice)
    await _is_copied(story, alice, story.person("Erin"))


async def _is_listed(alice: Person) -> None:
    await alice.types("#team-a", "/pvc list")
    await alice.is_told("Asking Azure for the levels of team-a's PVCs…")
    await alice.is_told(
        "PVCs of team-a",
        "imagenet | 1 TiB | standard | RWX | not mounted | 0",
        "lane-data | 1 TiB | azurenetappfiles | RWX | not mounted | 0 | Premium | 296.96",
    )
    await alice.types("#team-a", "/pvc show lane-data")
    await alice.is_told("Asking Azure for the level of lane-data…")
    await alice.is_told("Premium of Azure NetApp Files, pool premium-1", "230 GiB (22 %)")


async def _is_restored(story: Story, alice: Person) -> None:
    await alice.types("#team-a", "/snapshot create imagenet")
    await alice.is_told("Taking a snapshot of imagenet: imagenet-")
    card = await story.card("#team-a", "Snapshot imagenet-")
    await card.shows("Ready")
    await alice.is_mentioned("#team-a", "The snapshot of imagenet is ready", thread=card)
    await alice.types("#team-a", "/snapshot restore imagenet --as monday")
    await alice.is_told("Creating PVC monday from imagenet-")
    made = await story.card("#team-a", "PVC monday from imagenet-")
    await made.shows("Ready")
    await alice.is_mentioned("#team-a", "PVC monday is ready.", thread=made)


async def _grows(story: Story, alice: Person) -> None:
    """Leads make PVCs larger; one on Azure NetApp Files has a command of its own."""
    erin = story.person("Erin")
    await alice.types("#team-a", "/pvc resize monday 2Ti")
    await alice.is_told("This requires the right pvc.resize")
    await erin.types("#team-a", "/pvc resize lane-data 2Ti")
    await erin.is_told("PVC lane-data is on Azure NetApp Files", "/anf grow lane-data 2Ti")
    await erin.types("#team-a", "/pvc resize monday 500Gi")
    await erin.is_told("PVC monday has 1 TiB, and PVCs cannot shrink.")
    await _asks(story, erin, "resize monday 2Ti", "Grow monday to 2 TiB?", "Grow it")
    card = await story.card("#team-a", "Resize PVC monday to 2 TiB")
    await card.shows("Grown")
    await erin.is_mentioned("#team-a", "monday has grown to 2 TiB.", thread=card)
    await alice.types("#team-a", "/pvc show monday")
    await alice.is_told("PVC monday · Bound", "2 TiB")

    await _is_deleted(story, alice, erin)


async def _is_deleted(story: Story, alice: Person, erin: Person) -> None:
    """A lead deletes what nothing needs, after an approval for its size and a snapshot of it."""
    await erin.types("#team-a", "/pvc unused")
    await erin.is_told("Asking Azure for the levels of team-a's PVCs…")
    await erin.is_told("Unused PVCs of team-a", "monday | 2 TiB")
    await erin.types("#team-a", "/pvc delete other")
    await erin.is_told("There is no PVC other in namespace team-a.")
    words = "delete monday --snapshot-first"
    await _asks(story, erin, words, "Delete PVC monday?", "Request it")
    carol = story.person("Carol")
    asked = await story.card("#team-a", "Remove PVC monday")
    request = await story.card("#gpu-approvals", "Remove PVC monday", "Holds", "2 TiB")
    await carol.clicks(request, "Approve")
    await carol.is_told("You approved this request.")
    await asked.shows("Approved and started")
    await erin.is_mentioned("#team-a", "The removal of PVC monday was approved", thread=asked)
    card = await story.card("#team-a", "Delete PVC monday")
    taken = await story.card("#team-a", "Snapshot monday-")
    await erin.is_mentioned("#team-a", "The snapshot of monday is ready", thread=taken)
    await card.shows("Deleted")
    await erin.is_mentioned("#team-a", "PVC monday is deleted.", thread=card)
    await alice.types("#team-a", "/pvc show monday")
    await alice.is_told("There is no PVC monday in namespace team-a.")


async def _is_copied(story: Story, alice: Person, erin: Person) -> None:
    """A PVC for one node becomes one that runs on many nodes mount."""
    folder = story.world.cluster.programs.volume("team-a", "scratch")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "labels.csv").write_text("labels", encoding="utf-8")
    await erin.types("#team-a", "/pvc copy imagenet")
    await erin.is_told("Many pods can already mount PVC imagenet")
    await erin.types("#team-a", "/pvc copy scratch --class standard")
    await erin.is_told("It is not known whether many pods can mount volumes of storage class")
    await _asks(story, erin, "copy scratch --as shared", "Copy scratch to shared?", "Copy it")
    card = await story.card("#team-a", "Copy PVC scratch to shared")
    await card.shows("Copied", "1, 6 bytes")
    await erin.is_mentioned("#team-a", "shared is ready, and many pods can mount it", thread=card)
    await alice.types("#team-a", "/pvc show shared")
    await alice.is_told("PVC shared · Bound", "ReadWriteMany")
    for name in ("scratch", "shared"):
        if _content(story, name) != "labels":
            story.fail(f"{name} holds {_content(story, name)}")
    await story.until(lambda: not _copies(story), lambda: f"{_copies(story)} are still there")


def _copies(story: Story) -> list[str]:
    return [each for each in story.objects("jobs", "team-a") if each.startswith("copy-")]


def _content(story: Story, name: str) -> str:
    folder = story.world.cluster.programs.volume("team-a", name)
    path = folder / "labels.csv"
    return path.read_text(encoding="utf-8") if path.exists() else "nothing"


async def _asks(story: Story, erin: Person, words: str, title: str, button: str) -> None:
    """Types a command that asks first, and clicks; an answer that is lost could not be clicked."""
    was, story.unreliable = story.unreliable, False
    await erin.types("#team-a", f"/pvc {words}")
    offer = await erin.is_told(title)
    story.unreliable = was
    if offer is not None:
        await erin.clicks(offer, button)
        await erin.is_told("Requested")
