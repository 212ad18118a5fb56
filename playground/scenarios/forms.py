"""A form is searched, changed, refused and sent, by a command and by a mention in a thread."""

from playground.story.steps import ends_well, is_admitted
from playground.story.story import Story


async def play(story: Story) -> None:
    """Alice fills in a form after a command, and another one after a mention in a thread."""
    alice = story.person("Alice")
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=5)
    await alice.types("#team-a", "/train submit --gpus 2 -- python train.py --epochs 3")
    form = await alice.is_asked("/train submit")
    await form.says("Fill in what is required to see what would happen.")
    await form.is_offered("gpu_type", "h1", "h100 · 12 can be used now")
    await form.is_refused("This cannot be Lane!", name="Lane!", image="ghcr.io/acme/lane:3.1")
    await form.fills("name", "lane")
    await form.fills("kind", "sync")
    await form.says("It would use 2 GPUs")
    await form.fills("nodes", "2")
    await form.says("It would use 2 nodes, each with 2 GPUs", "so it can be admitted at once.")
    await form.fills("kind", "job")
    await form.is_sent()
    await alice.is_told("Submitted run lane with 2 GPUs")
    card = await story.card("#team-a", "lane")
    await is_admitted(story, card)
    await alice.mentions("#team-a", "submit --gpus 1", thread=card)
    asked = await alice.is_told("NAME is missing.")
    if asked is not None:
        await alice.clicks(asked, "Open form")
        again = await alice.is_asked("/train submit")
        await again.is_sent(name="second", image="ghcr.io/acme/lane:3.1")
        await alice.is_told("Submitted run second with 1 GPU")
    second = await story.card("#team-a", "second")
    await is_admitted(story, second)
    await ends_well(alice, "#team-a", second, "second")
    await ends_well(alice, "#team-a", card, "lane")
