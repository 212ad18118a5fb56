"""An admin creates a capacity pool, which another person approves, and deletes it again."""

from playground.arm.estate import GIB, TIB, Estate
from playground.cluster.cluster import Cluster
from playground.settings import Setup
from playground.story.person import Card, Person
from playground.story.story import Story

_CREATE = "/anf pool create premium-2 --size 4TiB --level premium"
_DELETE = "/anf pool delete premium-2"


def _arranged(_cluster: Cluster, estate: Estate) -> None:
    standard = estate.add_pool(estate.add_account(), "standard-1", "Standard", 4)
    estate.add_volume(standard, "models", TIB)


SETUP = Setup(
    azure=_arranged,
    settings={
        "anf": {"pool_creation": {}, "accounts": ["ml-platform/ml"]},
        "admins": {"people": ["U0CAROL", "U0ERIN"]},
        "approvals": {"anf_pool": {"approvers": {"people": ["U0CAROL"]}}},
    },
)


async def play(story: Story) -> None:
    """Refusals, then a pool that is created; with a volume it stays, and empty it is deleted."""
    alice, carol, erin = story.person("Alice"), story.person("Carol"), story.person("Erin")
    await alice.types("#team-a", _CREATE)
    await alice.is_told("This requires the right anf.pool_change")
    await erin.types("#team-a", f"{_CREATE} --qos manual --throughput 256")
    await erin.is_told("--throughput is for Flexible pools")
    await erin.types("#team-a", "/anf pool delete standard-1")
    await erin.is_told("Asking Azure about pool standard-1…")
    await erin.is_told("Pool standard-1 was not created by Quartermaster.")
    await _asks(story, erin, _CREATE, "Create capacity pool premium-2?", "1,187.84 more")
    card = await _is_approved(story, carol, "Create capacity pool premium-2")
    await erin.is_mentioned("#team-a", "Pool premium-2 is created.", thread=card)
    await _azure_has(story, {"standard-1: 4 TiB", "premium-2: 4 TiB"})
    await _is_deleted(story, carol, erin)


async def _is_deleted(story: Story, carol: Person, erin: Person) -> None:
    pool = next(each for each in story.azure.pools if each.name == "premium-2")
    late = story.azure.add_volume(pool, "late", 100 * GIB)
    await erin.types("#team-a", _DELETE)
    await erin.is_told("Asking Azure about pool premium-2…")
    await erin.is_told("Pool premium-2 has 1 volume: late.")
    story.azure.volumes.remove(late)
    await _asks(story, erin, _DELETE, "Delete capacity pool premium-2?", "1,187.84 less")
    card = await _is_approved(story, carol, "Delete capacity pool premium-2")
    await erin.is_mentioned("#team-a", "Pool premium-2 is deleted.", thread=card)
    await _azure_has(story, {"standard-1: 4 TiB"})


async def _is_approved(story: Story, carol: Person, title: str) -> Card:
    """Another person approves it, and it is done; its card."""
    card = await story.card("#team-a", title)
    request = await story.card("#gpu-approvals", title)
    await carol.clicks(request, "Approve")
    await carol.is_told("You approved this request.")
    await card.shows("Done")
    await request.shows("Done")
    return card


async def _asks(story: Story, erin: Person, words: str, *says: str) -> None:
    """Types a command that asks first, and clicks; an answer that is lost could not be clicked."""
    was, story.unreliable = story.unreliable, False
    await erin.types("#team-a", words)
    await erin.is_told("Asking Azure about pool premium-2…")
    offer = await erin.is_told(*says)
    story.unreliable = was
    if offer is not None:
        await erin.clicks(offer, "Request it")
        await erin.is_told("Requested. Its card in this channel shows the progress.")


async def _azure_has(story: Story, facts: set[str]) -> None:
    """Waits until Azure has exactly these pools."""

    def there() -> set[str]:
        return {f"{each.name}: {each.size // TIB} TiB" for each in story.azure.pools}

    await story.until(lambda: there() == facts, lambda: f"Azure has {there()}")
