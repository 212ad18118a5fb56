"""What the fairness story has in common on every engine: who acts, and what all see."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from playground.slack.people import BOT_USER, Channel
from playground.slack.workspace import Workspace
from playground.story.fairness import FLAVOR, QUOTAS, STAGES, Stage, Work, waiting_gpus, works
from playground.story.person import Card, Person
from playground.story.steps import is_admitted, submits
from playground.story.story import Story

GiveBack = Callable[[Story, Stage, dict[str, Card]], Awaitable[None]]
"""The stage in which borrowers give back, as each engine has it and says it."""

PEOPLE = {"team-a": "Alice", "team-b": "Bob", "team-c": "Carol", "team-d": "Erin"}
_MORE_TEAMS = {"team-c": ("C0TEAMC", "U0CAROL"), "team-d": ("C0TEAMD", "U0ERIN")}
SETTINGS: Mapping[str, Any] = {
    # How long each of them waits is the queue's doing and differs from time to time.
    "training": {"long_wait": "1d"},
    "teams": {
        team: {
            "channels": [channel],
            "leads": {"people": [person]},
            "namespace": team,
            "local_queue": team,
        }
        for team, (channel, person) in _MORE_TEAMS.items()
    },
}


def add_channels(workspace: Workspace) -> None:
    """Adds the channels of the teams that only this story has."""
    for team, (channel, person) in _MORE_TEAMS.items():
        workspace.channels[channel] = Channel(channel, team, [person, BOT_USER])


async def submit(story: Story, work: Work, cards: dict[str, Card], interactive: str) -> Card:
    """A run is submitted, with this priority if it is interactive; its card is kept."""
    priority = f" --priority {interactive}" if work.interactive else ""
    command = f"--image {work.image} --gpus {work.gpus}{priority} -- python train.py"
    person = story.person(PEOPLE[work.team])
    cards[work.name] = await submits(story, person, f"#{work.team}", work.name, command)
    return cards[work.name]


async def goes_through_stages(story: Story, interactive: str, give_back: GiveBack) -> None:
    """All four stages, with the figures of every team after each."""
    for image in {work.image for work in works().values()}:
        story.trains(image, seconds_per_epoch=86_400)
    cards: dict[str, Card] = {}
    borrowing, reclaiming, queueing, sharing = STAGES
    await _all_start(story, borrowing, cards, interactive)
    await _stands(story, borrowing)
    await give_back(story, reclaiming, cards)
    await _stands(story, reclaiming)
    await _others_wait(story, queueing, cards, interactive)
    await _stands(story, queueing)
    await _the_rest_share(story, sharing, cards)
    await _stands(story, sharing)


async def _all_start(story: Story, stage: Stage, cards: dict[str, Card], interactive: str) -> None:
    """What is submitted in a stage is admitted at once."""
    for work in stage.submits:
        card = await submit(story, work, cards, interactive)
        await is_admitted(story, card)
        await card.shows("Running for", f"GPUs: {work.gpus}")


async def _others_wait(
    story: Story, stage: Stage, cards: dict[str, Card], interactive: str
) -> None:
    for work in stage.submits:
        card = await submit(story, work, cards, interactive)
        await card.shows("Pending", f"It is waiting for {work.gpus} GPUs of {FLAVOR}")


async def _the_rest_share(story: Story, stage: Stage, cards: dict[str, Card]) -> None:
    """team-d stops its runs, and others get its GPUs."""
    person = story.person(PEOPLE["team-d"])
    for name in stage.stops:
        await _stop(person, name, cards[name])
    undecided = {name for pair in stage.either for name in pair}
    for name in (name for name in STAGES[-2].waits if name not in undecided):
        await is_admitted(story, cards[name])
    for one, other in stage.either:
        first = await _first_to_run(story, cards[one], cards[other])
        await is_admitted(story, first)


async def _first_to_run(story: Story, one: Card, other: Card) -> Card:
    """The one of two equal runs that the queue let start; the other goes on waiting."""

    def runs() -> Card | None:
        return next((card for card in (one, other) if "Running for" in card.text), None)

    found = await story.until(runs, lambda: f"neither runs:\n{one.text}\n{other.text}")
    left = other if found is one else one
    await left.shows(re.compile("Pending|Preempted, waiting again"))
    return found


async def _stop(person: Person, name: str, card: Card) -> None:
    await person.types("#team-d", f"/train stop {name}")
    await person.is_told(f"Stopping {name}")
    await card.shows("Stopped after")
    await person.is_mentioned("#team-d", f"{name} was stopped by erin", thread=card)


async def _stands(story: Story, stage: Stage) -> None:
    """The quotas of all teams read as the stage says, on a cluster that has come to rest."""
    await story.rest()
    carol = story.person("Carol")
    await carol.types("#team-c", "/quota status --all")
    await carol.is_told("GPU quota of all teams", *(_row(stage, team) for team in QUOTAS))


def _row(stage: Stage, team: str) -> str:
    used, quota, waits = stage.allocated[team], QUOTAS[team], waiting_gpus(stage, team)
    gpus = f"{sum(waits)} GPUs" if waits else ""
    pending = f"{len(waits)} ({gpus})" if waits else "0"
    return f"{team} | {FLAVOR} | {quota} | {used} | {max(0, used - quota)} | 0 | {pending}"
