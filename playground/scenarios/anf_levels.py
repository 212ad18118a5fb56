"""One volume gets more throughput for a while, another a service level; both are reverted."""

from datetime import timedelta

from playground.arm.estate import GIB, TIB, Estate
from playground.arm.trident import HOME, Wanted, export, provision, storage_class
from playground.cluster.cluster import Cluster
from playground.settings import Setup
from playground.story.person import Person
from playground.story.story import Story


def _arranged(cluster: Cluster, estate: Estate) -> None:
    account = estate.add_account()
    standard = estate.add_pool(account, "standard-1", "Standard", 4)
    premium = estate.add_pool(account, "premium-1", "Premium", 2)
    tuned = estate.add_pool(account, "tuned-1", "Premium", 2)
    tuned.qos = "Manual"
    cluster.create("storageclasses", storage_class())
    models = estate.add_volume(standard, "models", TIB)
    export(cluster, models, "models", Wanted("team-a", "models", 1024))
    scratch = estate.add_volume(tuned, "scratch", 512 * GIB)
    scratch.own_throughput, scratch.address = 40, "10.0.2.5"
    export(cluster, scratch, "scratch", Wanted("team-a", "scratch", 512))
    provision(cluster, estate, standard, Wanted("team-a", "lane-data", 512))
    provision(cluster, estate, premium, Wanted("team-b", "reports", 1536))


SETUP = Setup(
    azure=_arranged,
    settings={
        "anf": {"changes": {}},
        "approvals": {"anf_change": {"approvers": {"people": ["U0CAROL"]}}},
    },
)


async def play(story: Story) -> None:
    """Refusals, throughput for a while, then a move that grows a pool, approved and put back."""
    alice, erin = story.person("Alice"), story.person("Erin")
    await _what_cannot_be_is_explained(alice, erin)
    await _throughput_for_a_while(story, erin)
    carol = story.person("Carol")
    await _level_for_a_day(story, erin, carol)
    await _trident_is_told(story, erin, carol)


async def _what_cannot_be_is_explained(alice: Person, erin: Person) -> None:
    await alice.types("#team-a", "/anf level models premium")
    await alice.is_told("This requires the right anf.change, which you do not have here.")
    await erin.types("#team-a", "/anf level models premum")
    await erin.is_told("premum", "premium")
    await erin.types("#team-a", "/anf level lane-data premium")
    await erin.is_told("Asking Azure about lane-data…")
    await erin.is_told("lane-data: Premium?", "Approving the move approves this too.")
    await erin.types("#team-a", "/anf throughput models 200")
    await erin.is_told("Asking Azure about models…")
    await erin.is_told("Pool standard-1 has automatic QoS", "16 MiB/s per TiB.")
    await erin.types("#team-a", "/anf throughput scratch 400")
    await erin.is_told("Asking Azure about scratch…")
    await erin.is_told("Pool tuned-1 has 131.1 MiB/s for this volume")


async def _is_asked(story: Story, erin: Person, words: str, button: str, *says: str) -> None:
    """Somebody is shown what would be done, and has it done."""
    if story.unreliable:
        # What only she sees may be lost with the bot, and a button with it.
        await erin.types("#team-a", f"{words} --yes")
        return
    await erin.types("#team-a", words)
    await erin.is_told("Asking Azure about")
    offer = await erin.is_told(*says)
    if offer is not None:
        await erin.clicks(offer, button)
    await erin.is_told("Its card in this channel shows the progress.")


async def _throughput_for_a_while(story: Story, erin: Person) -> None:
    words = "/anf throughput scratch 120 --for 12h"
    says = ("scratch: 120 MiB/s for 12h?", "40 MiB/s → 120 MiB/s")
    await _is_asked(story, erin, words, "Apply", *says)
    card = await story.card("#team-a", "team-a/scratch to 120 MiB/s")
    await card.shows("Active", "40 MiB/s → 120 MiB/s")
    await erin.is_mentioned("#team-a", "scratch has 120 MiB/s, until", thread=card)
    await _azure_has(story, "scratch on tuned-1: 120 MiB/s", "tuned-1: 2 TiB")
    await story.bot_is_killed()
    await story.time_leaps(timedelta(hours=13))
    await story.bot_returns()
    await card.shows("Reverted")
    await erin.is_mentioned("#team-a", "scratch was reverted to 40 MiB/s.", thread=card)
    await _azure_has(story, "scratch on tuned-1: 40 MiB/s", "tuned-1: 2 TiB")


async def _level_for_a_day(story: Story, erin: Person, carol: Person) -> None:
    words = '/anf level models premium --pool premium-1 --for 12h --reason "CVPR deadline"'
    says = (
        "models: Premium for 12h?",
        "Pool premium-1 grows from 2 TiB to 3 TiB first.",
        "Filling all of its 1 TiB takes at least 17h 46m now and 4h 26m afterwards.",
        "it is reverted after 1d.",
        "296.96 more a month",
        "Another person has to approve it.",
    )
    await _is_asked(story, erin, words, "Request it", *says)
    card = await story.card("#team-a", "team-a/models to Premium")
    request = await story.card("#gpu-approvals", "team-a/models to Premium", "296.96 more a month")
    await carol.types("#gpu-approvals", "/approval list")
    await carol.is_told("Pending requests", "team-a: models to Premium (pool premium-1)")
    await carol.clicks(request, "Approve")
    await carol.is_told("You approved this request.")
    await erin.is_mentioned("#team-a", "Approved by carol.", thread=card)
    await card.shows("Active", "16.4 MiB/s → 65.5 MiB/s", "premium-1: 2 TiB → 3 TiB (grown)")
    await erin.is_mentioned("#team-a", "models is on Premium, in pool premium-1", thread=card)
    await _azure_has(story, "models on premium-1: 65.536 MiB/s", "premium-1: 3 TiB")
    await story.pass_time(timedelta(hours=25))
    await card.shows("Reverted")
    await request.shows("Reverted")
    said = "models was reverted to Standard, in pool standard-1."
    await erin.is_mentioned("#team-a", said, thread=card)
    await _azure_has(story, "models on standard-1: 16.384 MiB/s", "premium-1: 2 TiB")


async def _trident_is_told(story: Story, erin: Person, carol: Person) -> None:
    """A volume that Trident made is moved, and Trident told, by one approval."""
    story.allowed_writes |= {"patch tridentvolumes", "patch deployments"}
    words = "/anf level lane-data premium --pool premium-1"
    await _is_asked(story, erin, words, "Request it", "Approving the move approves this too.")
    card = await story.card("#team-a", "team-a/lane-data to Premium")
    request = await story.card("#gpu-approvals", "its controller restarts")
    await carol.clicks(request, "Approve")
    await carol.is_told("You approved this request.")
    await erin.is_mentioned("#team-a", "Approved by carol.", thread=card)
    repair = await story.card("#team-a", "Repair of PVC lane-data")
    await repair.shows("Repaired")
    said = "Trident's record of lane-data is repaired."
    await erin.is_mentioned("#team-a", said, thread=repair)
    await card.shows("Done")
    said = "lane-data is on Premium, in pool premium-1: 32.8 MiB/s."
    await erin.is_mentioned("#team-a", said, thread=card)
    moved = story.azure.volumes[2]
    (record,) = (
        each
        for each in story.world.cluster.list("tridentvolumes", HOME)
        if each["config"]["internalName"] == moved.path
    )
    if record["config"]["internalID"] != story.azure.volume_id(moved):
        story.fail(f"Trident's record says {record['config']}")


async def _azure_has(story: Story, *facts: str) -> None:
    """Waits until Azure is so, whatever the cards say."""

    def there() -> set[str]:
        volumes = story.azure.volumes
        found = {f"{each.name} on {each.pool.name}: {each.throughput:g} MiB/s" for each in volumes}
        return found | {f"{each.name}: {each.size // TIB} TiB" for each in story.azure.pools}

    await story.until(lambda: there() >= set(facts), lambda: f"Azure has {there()}")
