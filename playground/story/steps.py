"""Steps that many stories share."""

from playground.story.expectations import Words
from playground.story.person import Card, Person
from playground.story.story import Story


async def submits(story: Story, person: Person, channel: str, name: str, command: str) -> Card:
    """Submits a run and returns its card, whatever becomes of it."""
    await person.types(channel, f"/train submit {name} {command}")
    await person.is_told(f"Submitted run {name} with", f"/train stop {name} stops it.")
    return await story.card(channel, name)


async def is_admitted(story: Story, card: Card) -> None:
    """Kueue lets a run start, and its thread says so."""
    await story.passing_reply(card, "Admitted after")


async def ends_well(person: Person, channel: str, card: Card, name: str) -> None:
    """A run succeeds, and its owner is mentioned once."""
    await card.shows("Succeeded")
    await person.is_mentioned(channel, f"{name} succeeded after", thread=card)


async def asks_for_gpus(
    story: Story, person: Person, change: str, *, title: str, receipt: Words
) -> tuple[Card, Card]:
    """Asks for quota in #team-a; the cards there and in #gpu-approvals."""
    await person.types("#team-a", f"/quota request {change}")
    await person.is_told(receipt)
    request = await story.card("#gpu-approvals", title)
    return await story.card("#team-a", title), request


async def approves(story: Story, carol: Person, request: Card, own: Card) -> None:
    """Approves a request in #gpu-approvals; its thread in #team-a says so, and it takes effect."""
    await carol.clicks(request, "Approve")
    await carol.is_told("You approved this request.")
    await request.shows("Active", f"{carol.name} approved")
    await request.offers()
    await own.shows("Active")
    await story.reply(own, f"approved by @{carol.name}: nominal quota", "until")


async def is_put_back(story: Story, request: Card, own: Card) -> None:
    """An override ends, and its thread in #team-a says what the quota is now."""
    await request.shows("Ended")
    await own.shows("Ended")
    await story.reply(own, "The override has ended: the nominal quota of team-a is 4 GPUs of h100.")


async def is_recorded(story: Story, person: Person, name: str, amount: str, *options: str) -> Card:
    """A version of chest-xray is asked for in #team-a and recorded."""
    words = " ".join(("/dataset version chest-xray --name", name, *options))
    await person.types("#team-a", words)
    await person.is_told(
        f"Recording chest-xray@{name}", "Its card in this channel shows the progress."
    )
    card = await story.card("#team-a", f"chest-xray@{name}")
    await card.shows("Recorded", "s3://lake/chest-xray/")
    said = f"chest-xray@{name} is recorded: {amount}"
    await person.is_mentioned("#team-a", said, thread=card)
    return card
