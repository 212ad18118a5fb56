"""A node is lost, a pod is evicted, storage fails: each card shows what failed and what to try."""

from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story


async def play(story: Story) -> None:
    """What mends itself goes on by itself; what does not tells the next thing to try."""
    story.allowed_writes |= {"create persistentvolumeclaims"}
    await _its_node(story)
    await _its_storage(story)
    await _its_memory(story)


async def _its_node(story: Story) -> None:
    alice = story.person("Alice")
    story.trains("ghcr.io/acme/lane", never_ends=True)
    command = "--image ghcr.io/acme/lane:3.1 --gpus 2 -- python train.py"
    card = await submits(story, alice, "#team-a", "lane", command)
    await is_admitted(story, card)
    await card.shows("Running for")
    pod = story.pod("lane")
    node = pod["spec"]["nodeName"]
    story.nature.lose_node(node)
    await card.shows(
        f"Its node {node} does not respond, so it is unknown whether the run is still running.",
        f"or starts elsewhere when an admin deletes {node}.",
    )
    story.nature.find_node(node)
    await card.shows("Running for", "Last line")
    story.nature.evict("team-a", pod["metadata"]["name"])
    await story.reply(
        card,
        "Its pod was evicted from its node: The node was low on resource: memory.",
        "It restarts automatically, from its last checkpoint, if it wrote one.",
    )
    await card.shows("Running for")
    await alice.clicks(card, "Stop", confirming="Stop lane?")
    await alice.is_told("Stopping lane")
    await card.shows("Stopped after")
    await alice.is_mentioned("#team-a", "lane was stopped", thread=card)


async def _its_storage(story: Story) -> None:
    alice = story.person("Alice")
    story.trains("ghcr.io/acme/eval", seconds_per_epoch=10)
    story.nature.break_mount("team-a-data", "mount.nfs: Connection timed out")
    command = "--image ghcr.io/acme/eval:2 --gpus 1 --pvc team-a-data:/data -- python eval.py"
    card = await submits(story, alice, "#team-a", "eval", command)
    await is_admitted(story, card)
    await card.shows("Its volume cannot be mounted", "Connection timed out.", "A storage admin")
    story.nature.mend_mount("team-a-data")
    await ends_well(alice, "#team-a", card, "eval")
    story.nature.break_provisioner("standard", "pool aurora is full")
    command = "--image ghcr.io/acme/eval:2 --gpus 1 --pvc standard:10Gi:/mnt -- python eval.py"
    await alice.types("#team-a", f"/train submit fetch {command}")
    await alice.is_told("Submitted run fetch with", "New PVC")
    card = await story.card("#team-a", "fetch")
    await is_admitted(story, card)
    await card.shows(
        "No volume can be provisioned for its PVC", "pool aurora is full.", "A storage admin"
    )
    story.nature.mend_provisioner("standard")
    await ends_well(alice, "#team-a", card, "fetch")


async def _its_memory(story: Story) -> None:
    alice = story.person("Alice")
    story.trains("ghcr.io/acme/big", fails_after=8, out_of_memory=True)
    command = "--image ghcr.io/acme/big:1 --gpus 1 -- python train.py"
    card = await submits(story, alice, "#team-a", "big", command)
    await is_admitted(story, card)
    words = "Its program used more memory than its limit of 72Gi and was killed (OOMKilled)."
    for attempt in (1, 2):
        await story.reply(card, f"Attempt {attempt} of 3 failed. {words}")
    await card.shows("Failed after", words, "Submit it with more --memory")
    await alice.is_mentioned(
        "#team-a", "big failed after", words, "--memory", thread=card, broadcast=True
    )
