"""A PVC gets a schedule; after approval, Trident reverts it in place to undo a bad run."""

from playground.cluster.cluster import Cluster
from playground.cluster.story import claim, snapshot_class, storage_class
from playground.settings import Setup
from playground.slack.workspace import Workspace
from playground.story.person import Person
from playground.story.story import Story

CLAIM, TRIDENT = "results", "csi.trident.netapp.io"
ACTIONS, CLAIMS, TAKEN = (
    "tridentactionsnapshotrestores",
    "persistentvolumeclaims",
    "volumesnapshots",
)


def arrange(cluster: Cluster, _workspace: Workspace) -> None:
    """A PVC on Trident, which takes snapshots."""
    cluster.install("snapshots", "trident")
    kind = storage_class("anf", seconds=0)
    cluster.create("storageclasses", kind | {"provisioner": TRIDENT})
    cluster.create("volumesnapshotclasses", snapshot_class("trident", TRIDENT, seconds=1))
    body = claim(CLAIM)
    body["spec"]["storageClassName"] = "anf"
    cluster.create(CLAIMS, body, "team-a")


SETUP = Setup(
    arrange=arrange,
    settings={"approvals": {"snapshot_restore": {"approvers": {"people": ["U0CAROL"]}}}},
)


async def play(story: Story) -> None:
    """Scheduled, taken, overwritten, saved in a clone, and put back."""
    story.allowed_writes |= {
        f"create {TAKEN}", f"create {CLAIMS}", f"create {ACTIONS}", f"delete {ACTIONS}",
    }  # fmt: skip
    alice = story.person("Alice")
    write(story, "monday")
    await _is_scheduled(story, alice)
    write(story, "tuesday")
    await _is_put_back(story, alice)


def write(story: Story, text: str) -> None:
    """Has the PVC hold this."""
    folder = story.world.cluster.programs.volume("team-a", CLAIM)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "labels.csv").write_text(text, encoding="utf-8")


def held(story: Story, name: str = CLAIM) -> str:
    """What a PVC holds."""
    path = story.world.cluster.programs.volume("team-a", name) / "labels.csv"
    return path.read_text(encoding="utf-8")


async def _is_scheduled(story: Story, alice: Person) -> None:
    await alice.types("#team-a", '/snapshot schedule results "every night"')
    await alice.is_told("does not have five fields", "is daily at 02:00 in UTC")
    await alice.types("#team-a", '/snapshot schedule results "0 2 * * *" --keep 7d --max 14')
    await alice.is_told("Snapshots of results are taken at", "7d, at most 14")
    card = await story.card("#team-a", "Snapshot schedule of results")
    await card.shows("Active", "0 ready")
    await alice.types("#team-a", "/snapshot create results")
    await alice.is_told("Taking a snapshot of results: results-")
    taken = await story.card("#team-a", "Snapshot results-")
    await taken.shows("Ready", "team-a/results")
    await alice.is_mentioned("#team-a", "The snapshot of results is ready", thread=taken)
    await alice.types("#team-a", "/snapshot unschedule results")
    await alice.is_told("No more snapshots of results are taken on a schedule.")
    await card.shows("Stopped", "@Alice stopped it.")


async def _is_put_back(story: Story, alice: Person) -> None:
    """Asked for with a clone, approved by Carol, and done."""
    await alice.types("#team-a", '/snapshot restore results --in-place --reason "a bad run"')
    offer = await alice.is_told("This reverts PVC results itself to results-", "cannot be undone")
    if offer is None:
        story.fail("the question has no buttons")
    await alice.clicks(offer, "Request with a clone first")
    await alice.is_told("Requested to revert results to results-")
    card = await story.card("#team-a", "Revert PVC results to results-")
    await card.shows("Waiting for approval", "a bad run")
    asked = await story.card("#gpu-approvals", "Revert PVC results to results-")
    carol = story.person("Carol")
    await carol.clicks(asked, "Approve")
    await carol.is_told("You approved this request.")
    await card.shows("Reverted", "in PVC results-")
    await alice.is_mentioned("#team-a", "PVC results was reverted to results-", thread=card)
    clone = await story.card("#team-a", "PVC results-", "from results")
    await clone.shows("Ready", "--pvc results-")
    await alice.is_mentioned("#team-a", "holds the data of PVC results", thread=clone)
    there = [each["metadata"]["name"] for each in story.world.cluster.list(CLAIMS, "team-a")]
    saved = [held(story, name) for name in there if name.startswith(f"{CLAIM}-")]
    if (held(story), saved) != ("monday", ["tuesday"]):
        story.fail(f"results holds {held(story)}, and what was saved is {saved}")
    await story.cluster_has(ACTIONS, "team-a", CLAIM, count=0)
