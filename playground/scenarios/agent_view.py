"""The agent view suggests commands to each person, and answers those they choose in a thread."""

from playground.settings import Setup
from playground.story.person import Card
from playground.story.steps import is_admitted
from playground.story.story import Story

SETUP = Setup(manifest=("--agent-view",))
OF_TEAMS = ("Show my team's runs", "Show my team's GPU quota", "Show how busy the GPUs are")
HELP = "What can I do here?"
SUBMIT = "train submit lane --image ghcr.io/acme/lane:3.1 --gpus 2 -- python train.py --epochs 3"


async def play(story: Story) -> None:
    """Alice chooses prompts and writes commands; Carol has no team; Dan is not known yet."""
    alice, carol, dan = (story.person(name) for name in ("Alice", "Carol", "Dan"))
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=60)
    await alice.is_suggested(*OF_TEAMS, HELP)
    chosen = await alice.chooses("Show my team's runs")
    await story.reply(chosen, "Runs of team-a", "There are no runs.")
    await story.reply(await alice.chooses(HELP), "train", "quota")
    asked = Card(story, await alice.writes("good morning"))
    await story.reply(asked, "There is no command", "good")
    await alice.writes("train list", thread=asked)
    await story.reply(asked, "Runs of team-a", "There are no runs.")
    submitted = Card(story, await alice.writes(SUBMIT))
    await story.reply(submitted, "Submitted run lane with 2 GPUs")
    card = await alice.is_written_to("lane ·")
    await is_admitted(story, card)
    await alice.writes("show", thread=card)
    await story.reply(card, "lane ·", "ghcr.io/acme/lane:3.1")
    await carol.is_suggested(HELP, "Who am I here?")
    await story.reply(await carol.chooses("Who am I here?"), "You are carol", "admin")
    await story.reply(await dan.chooses(HELP), "Checking who you are")
    await card.shows("Succeeded in")
    await story.reply(card, "lane succeeded")
