"""A model is trained on three GPUs, kept with its data, resumed, and moved to a faster level."""

import sys
from datetime import timedelta

from playground.arm.estate import Estate
from playground.arm.trident import DRIVER, HOME, employ, storage_class
from playground.cluster.cluster import Cluster
from playground.cluster.story import GPU, NODE_RESOURCES, PRODUCT, add_node, snapshot_class
from playground.settings import Setup
from playground.story.person import Card, Person
from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story

DOWNLOADER, TRAINER = "muneer7589/download-tusimple", "muneer7589/dist-lane-detection"
FETCH, TRAIN, ALONE = "download-tusimple-data", "dist-lane-detection-training", "lane-on-one-gpu"
MODEL, GIVEN_BACK = "model/lanes.pth", "restored-tusimple"
_FETCH = """
import pathlib, sys
home = pathlib.Path(sys.argv[1]) / "tusimple"
home.mkdir()
for number in range(4):
    (home / f"clip-{number}.jpg").write_bytes(bytes([number]) * 2048)
print("3626 clips of TuSimple are extracted and labelled")
"""
_OPTIONS = (
    "--shm 8Gi --env USE_WORKERS=true --env NUM_WORKERS=4 --env BATCH_SIZE=33 --env USE_VAL=false"
    " --env VAL_BATCH_SIZE=99"
)
_EPOCHS = 10
_ON_ONE, _ON_THREE = timedelta(hours=12, minutes=45), timedelta(hours=4, minutes=30)


def _arranged(cluster: Cluster, estate: Estate) -> None:
    _has_three_nodes(cluster)
    cluster.install("snapshots", "mpi-operator")
    cluster.programs.images[f"{DOWNLOADER}:1.0"] = (sys.executable, "-c", _FETCH, "/mnt")
    cluster.create("storageclasses", storage_class())
    kind = snapshot_class("netapp-csi-snapclass", DRIVER, seconds=2)
    cluster.create("volumesnapshotclasses", kind)
    account = estate.add_account()
    standard = estate.add_pool(account, "standard-1", "Standard", 4)
    estate.add_pool(account, "premium-1", "Premium", 4)
    employ(cluster, estate, standard)


def _has_three_nodes(cluster: Cluster) -> None:
    """With one GPU each, as the guide's cluster on AKS."""
    for number in (1, 2):
        cluster.remove_node(f"gpu-{number}")
    for number in (1, 2, 3):
        add_node(cluster, f"gpu-{number}", {**NODE_RESOURCES, GPU: "1"}, PRODUCT)


SETUP = Setup(
    azure=_arranged,
    settings={
        "anf": {"changes": {}},
        "approvals": {"anf_change": {"approvers": {"people": ["U0CAROL"]}}},
    },
)


async def play(story: Story) -> None:
    """The story of NetApp's guide to lane detection, with what its volumes hold at each turn."""
    alice = story.person("Alice")
    claim = await downloads(story, alice)
    alone = await trains_on_one(story, alice, claim)
    run, kept = await trains(story, alice, claim, f"--kind mpi --nodes 3 {options(claim)}")
    await alone.shows(f"Succeeded in {_hours(_ON_ONE)}")
    await run.shows(f"Succeeded in {_hours(_ON_THREE)}", "Nodes: gpu-1, gpu-2, gpu-3")
    _leaves(story, claim, "spoilt by the next experiment")
    again = await goes_on(story, alice, claim)
    await names_each_other(alice, claim, run, kept)
    await is_restored(story, alice, claim)
    for name in (again, GIVEN_BACK):
        if _held(story, name) != f"{_EPOCHS} epochs":
            story.fail(f"{name} holds {_held(story, name)}")
    await moves(story, claim)
    volume = story.azure.volumes[0]
    pv = volume.name.removeprefix("trident-")
    config = (story.world.cluster.get("tridentvolumes", pv, HOME) or {})["config"]
    if config["internalID"] != story.azure.volume_id(volume):
        story.fail(f"Trident's record says {config}")


def options(claim: str) -> str:
    """How the guide has its image trained on a PVC, a GPU to each process."""
    return f"--gpus 1 --image {TRAINER}:3.1 {_OPTIONS} --pvc {claim}:/mnt -- python train.py"


async def downloads(story: Story, alice: Person) -> str:
    """A run makes a PVC by Trident and puts the data on it; what the PVC is called."""
    story.allowed_writes |= {
        "create persistentvolumeclaims", "create volumesnapshots", "create mpijobs",
        "patch tridentvolumes", "patch deployments", "create secrets", "delete secrets",
    }  # fmt: skip
    story.trains(DOWNLOADER, epochs=1, seconds_per_epoch=600)
    before = set(story.objects("persistentvolumeclaims", "team-a"))
    words = f"--image {DOWNLOADER}:1.0 --pvc azurenetappfiles:100Gi:/mnt"
    fetch = await submits(story, alice, "#team-a", FETCH, words)
    await is_admitted(story, fetch)
    await ends_well(alice, "#team-a", fetch, FETCH)
    (claim,) = set(story.objects("persistentvolumeclaims", "team-a")) - before
    await alice.types("#team-a", f"/train show {FETCH}")
    await alice.is_told(claim)
    await alice.types("#team-a", f"/anf show {claim}")
    await alice.is_told(f"Asking Azure for the volume of {claim}…")
    await alice.is_told(f"team-a/{claim}", "Standard", "1.6 MiB/s")
    return claim


async def trains_on_one(story: Story, alice: Person, claim: str) -> Card:
    """The same program on one GPU, to compare."""
    return await _trained(story, alice, ALONE, options(claim), _ON_ONE)


async def trains(story: Story, alice: Person, claim: str, words: str) -> tuple[Card, Card]:
    """Training on three GPUs whose end is kept; the cards of the run and of its snapshot."""
    flags = f"--snapshot {claim} --snapshot-keep 30d {words}"
    run = await _trained(story, alice, TRAIN, flags, _ON_THREE, claim)
    kept = await story.card("#team-a", f"Snapshot {_called(claim)}")
    await kept.shows("Ready", f"team-a/{claim}", TRAIN)
    await story.reply(run, f"The snapshot of {claim} at the end of {TRAIN} is ready")
    return run, kept


async def _trained(
    story: Story, alice: Person, name: str, words: str, lasts: timedelta, claim: str = ""
) -> Card:
    story.trains(TRAINER, epochs=_EPOCHS, seconds_per_epoch=lasts.total_seconds() / _EPOCHS)
    run = await submits(story, alice, "#team-a", name, words)
    await is_admitted(story, run)
    await run.shows("Running for")
    if claim:
        _leaves(story, claim, f"{_EPOCHS} epochs")
    await _almost(story, lasts)
    await ends_well(alice, "#team-a", run, name)
    await run.shows("Succeeded in", "100 % · 10 of 10 epochs")
    return run


async def goes_on(story: Story, alice: Person, claim: str) -> str:
    """One command restores the end of the training and trains from there; the PVC it is on."""
    await alice.types("#team-a", f"/train resubmit {TRAIN} --from-snapshot")
    await alice.is_told(
        f"Submitted run {TRAIN}#2 with", "It starts from snapshot", "waits for that PVC"
    )
    run = await story.card("#team-a", f"{TRAIN}#2", "Image")
    made = await story.card("#team-a", f"PVC {_called(claim)}", f"from {_called(claim)}")
    await made.shows("Ready", f"run {TRAIN}#2")
    await story.reply(run, f"PVC {_called(claim)}", "It holds the data of snapshot")
    await is_admitted(story, run)
    await run.shows("Running for", f"snapshot {_called(claim)}", f"of run {TRAIN}")
    await _almost(story, _ON_THREE)
    await ends_well(alice, "#team-a", run, f"{TRAIN}#2")
    card = await story.card("#team-a", f"Snapshot {_called(claim)}")
    await card.shows("Ready", f"{TRAIN}#2")
    await story.reply(run, f"at the end of {TRAIN}#2 is ready")
    there = story.objects("persistentvolumeclaims", "team-a")
    (name,) = (each for each in there if each.startswith(_called(claim)) and each != claim)
    return name


async def names_each_other(alice: Person, claim: str, run: Card, kept: Card) -> None:
    """Runs and snapshots tell their lineage, in both directions."""
    await alice.types("#team-a", f"/train show {TRAIN}#1")
    await alice.is_told("Restored for", f"{TRAIN}#2")
    await alice.types("#team-a", f"/train show {TRAIN}")
    await alice.is_told(f"From: snapshot {_called(claim)}", f"of run {TRAIN}")
    await run.shows("Succeeded", f"Snapshot: {_called(claim)}")
    await kept.shows("Ready")


async def is_restored(story: Story, alice: Person, claim: str) -> None:
    """The snapshot becomes a PVC of its own, under a name that somebody chose."""
    await alice.types("#team-a", f"/snapshot show {claim}")
    await alice.is_told(
        f"Snapshot {_called(claim)}", f"for run {TRAIN}#2, ready", f"the end state of run {TRAIN}"
    )
    await alice.types("#team-a", f"/snapshot restore {claim} --as {GIVEN_BACK}")
    await alice.is_told(GIVEN_BACK)
    card = await story.card("#team-a", f"PVC {GIVEN_BACK}", f"from {_called(claim)}")
    await card.shows("Ready")
    await alice.is_mentioned("#team-a", f"--pvc {GIVEN_BACK}:/mnt", thread=card)


async def moves(story: Story, claim: str) -> None:
    """A faster level for half a day, with what Trident has to be told, there and back."""
    erin, carol = story.person("Erin"), story.person("Carol")
    words = f'/anf level {claim} premium --for 12h --reason "the next experiment"'
    await erin.types("#team-a", words)
    await erin.is_told(f"Asking Azure about {claim}…")
    says = ("1.6 MiB/s → about 6.4 MiB/s", "Approving the move approves this too.")
    offer = await erin.is_told(f"{claim}: Premium for 12h?", *says)
    if offer is not None:
        await erin.clicks(offer, "Request it")
    await erin.is_told("Its card in this channel shows the progress.")
    card = await story.card("#team-a", f"team-a/{claim} to Premium")
    request = await story.card("#gpu-approvals", "its controller restarts")
    await carol.clicks(request, "Approve")
    await carol.is_told("You approved this request.")
    await erin.is_mentioned("#team-a", "Approved by carol.", thread=card)
    await _trident_is_told(story, erin, claim)
    await card.shows("Active", "1.6 MiB/s → 6.4 MiB/s")
    await erin.is_mentioned("#team-a", f"{claim} is on Premium, in pool premium-1", thread=card)
    _is_on(story, "premium-1")
    await story.pass_time(timedelta(hours=25))
    await _trident_is_told(story, erin, claim)
    await card.shows("Reverted")
    said = f"{claim} was reverted to Standard, in pool standard-1."
    await erin.is_mentioned("#team-a", said, thread=card)
    _is_on(story, "standard-1")


async def _trident_is_told(story: Story, erin: Person, claim: str) -> None:
    repair = await story.card("#team-a", f"Repair of PVC {claim}")
    await repair.shows("Repaired")
    said = f"Trident's record of {claim} is repaired."
    await erin.is_mentioned("#team-a", said, thread=repair)


def _is_on(story: Story, pool: str) -> None:
    """Azure has the volume of the first PVC there."""
    there = story.azure.volumes[0].pool.name
    if there != pool:
        story.fail(f"the volume is in pool {there}")


def _called(claim: str) -> str:
    """How names of snapshots of a PVC, and of PVCs made from them, begin."""
    return claim[:30]


async def _almost(story: Story, lasts: timedelta) -> None:
    """The last minute of a run that has begun."""
    await story.rest()
    await story.time_leaps(lasts - timedelta(minutes=1))


def _hours(lasts: timedelta) -> str:
    hours, minutes = divmod(int(lasts.total_seconds()) // 60, 60)
    return f"{hours}h {minutes}m"


def _leaves(story: Story, claim: str, text: str) -> None:
    """What a program would have written to its volume by now."""
    path = story.world.cluster.programs.volume("team-a", claim) / MODEL
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _held(story: Story, claim: str) -> str:
    path = story.world.cluster.programs.volume("team-a", claim) / MODEL
    return path.read_text(encoding="utf-8") if path.exists() else "nothing"
