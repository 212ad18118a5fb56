"""A team has volumes in two Azure subscriptions; while one refuses, the other stays visible."""

from playground.arm.estate import FURTHER, GIB, SUBSCRIPTION, TIB, Estate
from playground.arm.trident import Wanted, export, provision, storage_class
from playground.cluster.cluster import Cluster
from playground.settings import Setup
from playground.story.person import Person
from playground.story.story import Story

_OURS = "ml-platform/ml"
_SETTING = "/anf throughput scratch 100"
_CREATE = "/anf pool create premium-1 --size 1TiB --level premium --account"


def _arranged(cluster: Cluster, estate: Estate) -> None:
    """Accounts of one name in both, and a pool of one name."""
    first, second = estate.add_account(), estate.add_account(subscription=FURTHER)
    premium = estate.add_pool(first, "premium-1", "Premium", 2)
    tuned = estate.add_pool(second, "tuned-1", "Premium", 2)
    tuned.qos = "Manual"
    cluster.create("storageclasses", storage_class())
    provision(cluster, estate, premium, Wanted("team-a", "lane-data", 1024))
    scratch = estate.add_volume(tuned, "scratch", 512 * GIB)
    scratch.own_throughput, scratch.address = 40, "10.1.2.4"
    export(cluster, scratch, "scratch", Wanted("team-a", "scratch", 512))


SETUP = Setup(
    azure=_arranged,
    settings={
        "anf": {
            "accounts": [_OURS],
            "other_subscriptions": {FURTHER: [_OURS]},
            "changes": {},
            "pool_creation": {},
        },
        "admins": {"people": ["U0CAROL", "U0ERIN"]},
        "approvals": {
            "anf_change": {"approvers": {"people": ["U0CAROL"]}},
            "anf_pool": {"approvers": {"people": ["U0CAROL"]}},
        },
    },
)


async def play(story: Story) -> None:
    """What a team sees, a change in the second subscription, a refusal, and a pool of one name."""
    alice, erin, carol = story.person("Alice"), story.person("Erin"), story.person("Carol")
    await _volumes(
        alice,
        f"lane-data | premium-1 | Premium | 1 TiB | 65.5 MiB/s | unknown | {SUBSCRIPTION}",
        f"scratch | tuned-1 | Premium | 512 GiB | 40 MiB/s | unknown | {FURTHER}",
    )
    await _faster(story, erin)
    await _one_refuses(story, alice, erin)
    await _a_pool_of_one_name(story, erin, carol)


async def _volumes(alice: Person, *says: str) -> None:
    await alice.types("#team-a", "/anf volumes")
    await alice.is_told("Asking Azure for the volumes of team-a…")
    await alice.is_told("Volumes of team-a on Azure NetApp Files", *says)


async def _faster(story: Story, erin: Person) -> None:
    await erin.types("#team-a", f"{_SETTING} --yes")
    await erin.is_told("Its card in this channel shows the progress.")
    card = await story.card("#team-a", "team-a/scratch to 100 MiB/s")
    await card.shows("Done", FURTHER)
    await erin.is_mentioned("#team-a", "scratch has 100 MiB/s", thread=card)


async def _one_refuses(story: Story, alice: Person, erin: Person) -> None:
    """The role in the second subscription is taken away, and given again."""
    was = story.azure_allows(FURTHER, [])
    await _volumes(
        alice,
        f"Subscription {FURTHER} could not be read.",
        "AuthorizationFailed",
        f"lane-data | premium-1 | Premium | 1 TiB | 65.5 MiB/s | unknown | {SUBSCRIPTION}",
    )
    await erin.types("#team-a", "/anf throughput scratch 50")
    await erin.is_told("Asking Azure about scratch…")
    await erin.is_told(f"Subscription {FURTHER} could not be read.")
    story.azure_allows(FURTHER, was)
    await _volumes(
        alice, f"scratch | tuned-1 | Premium | 512 GiB | 100 MiB/s | unknown | {FURTHER}"
    )


async def _a_pool_of_one_name(story: Story, erin: Person, carol: Person) -> None:
    await erin.types("#team-a", f"{_CREATE} {_OURS}")
    await erin.is_told(f"Several subscriptions have {_OURS}.", f"{FURTHER}/{_OURS}")
    was, story.unreliable = story.unreliable, False
    await erin.types("#team-a", f"{_CREATE} {FURTHER}/{_OURS}")
    await erin.is_told("Asking Azure about pool premium-1…")
    offer = await erin.is_told("Create capacity pool premium-1?", FURTHER, "296.96 more")
    story.unreliable = was
    if offer is not None:
        await erin.clicks(offer, "Request it")
        await erin.is_told("Requested. Its card in this channel shows the progress.")
    card = await story.card("#team-a", "Create capacity pool premium-1")
    request = await story.card("#gpu-approvals", "Create capacity pool premium-1", FURTHER)
    await carol.clicks(request, "Approve")
    await carol.is_told("You approved this request.")
    await card.shows("Done")
    await erin.is_mentioned("#team-a", "Pool premium-1 is created.", thread=card)

    def there() -> set[str]:
        pools = story.azure.pools
        return {f"{e.account.subscription}: {e.name} of {e.size // TIB} TiB" for e in pools}

    wanted = {f"{SUBSCRIPTION}: premium-1 of 2 TiB", f"{FURTHER}: premium-1 of 1 TiB"}
    await story.until(lambda: there() >= wanted, lambda: f"Azure has {there()}")
