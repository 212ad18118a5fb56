"""A volume of Azure NetApp Files gets more throughput while a dataset is copied to it."""

from datetime import timedelta

from playground.arm.estate import TIB, Estate
from playground.arm.trident import CLASS, employ, storage_class
from playground.cluster.cluster import Cluster
from playground.settings import Setup
from playground.story.person import Card, Person
from playground.story.steps import is_recorded
from playground.story.story import Story

NODES = ("gpu-1", "gpu-2")
_OBJECTS = {f"chest-xray/{number}.png": bytes(1000) for number in range(3)}
_ASK = "/dataset cache chest-xray@v1 --boost"


def _arranged(cluster: Cluster, estate: Estate) -> None:
    tuned = estate.add_pool(estate.add_account(), "tuned-1", "Premium", 2)
    tuned.qos = "Manual"
    estate.add_volume(tuned, "others", TIB).own_throughput = 31
    cluster.create("storageclasses", storage_class())
    employ(cluster, estate, tuned)


SETUP = Setup(
    bucket=True,
    azure=_arranged,
    settings={
        "anf": {"changes": {}, "classes": {CLASS: ["tuned-1"]}},
        "datasets": {"classes": {CLASS: {}}, "default_class": CLASS},
    },
)


async def play(story: Story) -> None:
    """It is said what a boost does; it lasts from when the volume is there until it is filled."""
    story.allowed_writes |= {"create persistentvolumeclaims"}
    alice, erin = story.person("Alice"), story.person("Erin")
    for key, content in _OBJECTS.items():
        story.bucket.put(key, content)
    await alice.types("#team-a", "/dataset add chest-xray s3://lake/chest-xray/")
    await alice.is_told("Added dataset chest-xray of team-a")
    await is_recorded(story, alice, "v1", "3 objects, 3.0 kB.")
    await story.pass_time(timedelta(minutes=11))
    await alice.types("#team-a", _ASK)
    await alice.is_told("This requires the right anf.change, which you do not have here.")
    for node in NODES:
        story.nature.lose_node(node)
    card = await _is_asked(story, erin)
    await card.shows("Starting", "16 MiB/s → 58 MiB/s until it is filled")
    change = await story.card("#team-a", "to 58 MiB/s for the fill of chest-xray@v1")
    await change.shows("Active", "16 MiB/s → 58 MiB/s")
    await _azure_has(story, 58)
    for node in NODES:
        story.nature.find_node(node)
    await card.shows("Ready", "16 MiB/s → 58 MiB/s while it was filled; reverted.")
    said = "chest-xray@v1 is cached on azurenetappfiles: 3 files, 3.0 kB."
    await erin.is_mentioned("#team-a", said, thread=card)
    await change.shows("Reverted")
    await _azure_has(story, 16)


async def _is_asked(story: Story, erin: Person) -> Card:
    """Somebody is shown what it does, and has it done."""
    if story.unreliable:
        # What only she sees may be lost with the bot, and a button with it.
        await erin.types("#team-a", f"{_ASK} --yes")
    else:
        await erin.types("#team-a", _ASK)
        offer = await erin.is_told(
            "Cache chest-xray@v1?",
            "1s at best with the boost",
            "unknown → about 50 MiB/s (pool tuned-1) until it is filled, then put back",
            "unchanged: no pool changes its size",
        )
        if offer is not None:
            await erin.clicks(offer, "Cache it")
        await erin.is_told("Caching chest-xray@v1 on azurenetappfiles.")
    return await story.card("#team-a", "chest-xray@v1 on azurenetappfiles")


async def _azure_has(story: Story, mibps: float) -> None:
    """Waits until the volume of the cache has so much."""

    def found() -> list[float]:
        volumes = story.azure.volumes
        return [each.throughput for each in volumes if each.name.startswith("trident-")]

    await story.until(lambda: found() == [mibps], lambda: f"volumes have {found()} MiB/s")
