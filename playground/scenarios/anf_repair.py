"""A volume of Trident is moved in Azure; the bot starts nothing on it until Trident is updated."""

from datetime import timedelta

from playground.arm.estate import Estate
from playground.arm.trident import HOME, Wanted, provision, storage_class
from playground.cluster.cluster import Cluster
from playground.settings import Setup
from playground.story.person import Person
from playground.story.steps import ends_well, is_admitted
from playground.story.story import Story


def _arranged(cluster: Cluster, estate: Estate) -> None:
    account = estate.add_account()
    standard = estate.add_pool(account, "standard-1", "Standard", 4)
    estate.add_pool(account, "premium-1", "Premium", 2)
    cluster.create("storageclasses", storage_class())
    provision(cluster, estate, standard, Wanted("team-a", "lane-data", 1024))


SETUP = Setup(
    azure=_arranged,
    settings={
        "anf": {"changes": {"approve_above": 200}},
        "admins": {"people": ["U0CAROL", "U0ERIN"]},
        "approvals": {"anf_change": {"approvers": {"people": ["U0CAROL"]}}},
    },
)
_RUN = "/train submit lane --image ghcr.io/acme/lane:3.1 --pvc lane-data:/data -- python train.py"


async def play(story: Story) -> None:
    """The move, what is refused meanwhile, the repair, and that all is well then: it even grows."""
    alice, carol, erin = (story.person(name) for name in ("Alice", "Carol", "Erin"))
    volume = story.azure.volumes[0]
    volume.pool = story.azure.pools[1]
    story.allowed_writes |= {"patch tridentvolumes", "patch deployments"}
    await story.pass_time(timedelta(minutes=11))
    await alice.types("#team-a", _RUN)
    await alice.is_told(
        "The volume of PVC lane-data was moved to pool premium-1, and Trident does not have its"
        " new id: it cannot be mounted by a new run now. Pods that use it keep running.",
        "An admin can tell Trident where it is: /anf repair PVC.",
    )
    await alice.types("#team-a", "/anf repair lane-data")
    await alice.is_told("This requires the right anf.repair, which you do not have here.")
    await _is_repaired(story, erin, carol)
    name = volume.name.removeprefix("trident-")
    record = story.world.cluster.get("tridentvolumes", name, HOME) or {"config": {}}
    assert record["config"]["internalID"] == story.azure.volume_id(volume)  # noqa: S101 - a story
    await alice.types("#team-a", _RUN)
    await alice.is_told("Submitted run lane with", "/train stop lane stops it.")
    lane = await story.card("#team-a", "lane")
    await is_admitted(story, lane)
    await ends_well(alice, "#team-a", lane, "lane")
    await _grows(story, erin)


async def _grows(story: Story, erin: Person) -> None:
    """Trident finds the volume again, so it can be made larger."""
    story.allowed_writes |= {"patch persistentvolumeclaims"}
    await erin.types("#team-a", "/anf grow lane-data 1536Gi")
    await erin.is_told("Asking Azure about lane-data…")
    says = ("lane-data to 1.5 TiB?", "65.5 MiB/s → about 98.3 MiB/s", "148.48 a month more")
    offer = await erin.is_told(*says)
    if offer is not None:
        await erin.clicks(offer, "Grow it")
    await erin.is_told("Requested. Its card in this channel shows the progress.")
    card = await story.card("#team-a", "lane-data to 1.5 TiB")
    await card.shows("Grown", "1 TiB → 1.5 TiB")
    await erin.is_mentioned("#team-a", "lane-data has grown to 1.5 TiB.", thread=card)


async def _is_repaired(story: Story, erin: Person, carol: Person) -> None:
    await erin.types("#team-a", "/anf repair lane-data --dry-run")
    await erin.is_told("Asking Azure and Trident about lane-data…")
    await erin.is_told("lane-data was moved to pool premium-1", "Dry run")
    await erin.types("#team-a", "/anf repair lane-data")
    await erin.is_told("Asking Azure and Trident about lane-data…")
    offer = await erin.is_told("lane-data was moved to pool premium-1", "has to approve it")
    if offer is not None:
        await erin.clicks(offer, "Request approval")
    await erin.is_told("Requested. Its card in this channel shows the progress.")
    card = await story.card("#team-a", "Repair of PVC lane-data")
    request = await story.card("#gpu-approvals", "Repair of PVC lane-data", "config.internalID")
    await carol.clicks(request, "Approve")
    await carol.is_told("You approved this request.")
    await card.shows("Repaired", "from pool standard-1 to pool premium-1")
    await request.shows("Repaired")
    await request.offers()
    said = "Trident's record of lane-data is repaired."
    await erin.is_mentioned("#team-a", said, thread=card)
