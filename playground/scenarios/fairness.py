"""Four teams share sixteen GPUs: they borrow, give back, queue, and share what a team leaves."""

import re
from datetime import timedelta

from playground.cluster.cluster import Cluster
from playground.settings import Setup
from playground.slack.people import BOT_USER, Channel
from playground.slack.workspace import Workspace
from playground.story.fairness import (
    FLAVOR,
    GPU_TENTHS,
    INTERACTIVE,
    QUOTAS,
    STAGES,
    Stage,
    Work,
    waiting_gpus,
    works,
)
from playground.story.person import Card, Person
from playground.story.shared_gpus import share_gpus
from playground.story.steps import is_admitted, submits
from playground.story.story import Story

PEOPLE = {"team-a": "Alice", "team-b": "Bob", "team-c": "Carol", "team-d": "Erin"}
_MORE_TEAMS = {"team-c": ("C0TEAMC", "U0CAROL"), "team-d": ("C0TEAMD", "U0ERIN")}
_MOMENT = re.compile(r"[A-Z][a-z]{2} \d+ \d\d:\d\d UTC|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_MADE = re.compile(r"-[0-9a-f]{10}\b")


def _arrange(cluster: Cluster, workspace: Workspace) -> None:
    share_gpus(cluster)
    for team, (channel, person) in _MORE_TEAMS.items():
        workspace.channels[channel] = Channel(channel, team, [person, BOT_USER])


SETUP = Setup(
    settings={
        # How long each of them waits is the queue's doing and differs from time to time.
        "training": {"long_wait": "1d"},
        "clusters": {
            "default": {
                "excluded_resources": ["cpu", "memory"],
                "fractions": {"units": {"resource": GPU_TENTHS}},
            }
        },
        "teams": {
            team: {
                "channels": [channel],
                "leads": {"people": [person]},
                "namespace": team,
                "local_queue": team,
            }
            for team, (channel, person) in _MORE_TEAMS.items()
        },
    },
    arrange=_arrange,
)


async def play(story: Story) -> None:
    """Interactive work has the higher priority; no quota is ever raised."""
    for image in {work.image for work in works().values()}:
        story.trains(image, seconds_per_epoch=86_400)
    cards: dict[str, Card] = {}
    borrowing, reclaiming, queueing, sharing = STAGES
    await _all_start(story, borrowing, cards)
    await _stands(story, borrowing)
    await story.pass_time(timedelta(minutes=1))  # their logs are read
    await _borrowers_give_back(story, reclaiming, cards)
    await _stands(story, reclaiming)
    await _others_wait(story, queueing, cards)
    await _stands(story, queueing)
    await _the_rest_share(story, sharing, cards)
    await _stands(story, sharing)


async def _submit(story: Story, work: Work, cards: dict[str, Card]) -> Card:
    priority = f" --priority {INTERACTIVE}" if work.interactive else ""
    command = f"--image {work.image} --gpus {work.gpus}{priority} -- python train.py"
    person = story.person(PEOPLE[work.team])
    cards[work.name] = await submits(story, person, f"#{work.team}", work.name, command)
    return cards[work.name]


async def _all_start(story: Story, stage: Stage, cards: dict[str, Card]) -> None:
    for work in stage.submits:
        card = await _submit(story, work, cards)
        await is_admitted(story, card)
        await card.shows("Running for", f"GPUs: {work.gpus}")


async def _borrowers_give_back(story: Story, stage: Stage, cards: dict[str, Card]) -> None:
    for work, loser in zip(stage.submits, stage.waits, strict=True):
        card = await _submit(story, work, cards)
        await story.reply(
            cards[loser],
            "was preempted. Its GPUs were borrowed, and the team they belong to needed them back.",
        )
        await is_admitted(story, card)
    for taker, loser in zip(stage.submits, stage.waits, strict=True):
        work = works()[loser]
        await _reads(story, cards[loser], _preempted_card(work, taker, stage))
        person = story.person(PEOPLE[work.team])
        await person.types(f"#{work.team}", f"/train why {loser}")
        await person.is_told("Preempted, waiting again", _why(work, stage))


async def _others_wait(story: Story, stage: Stage, cards: dict[str, Card]) -> None:
    for work in stage.submits:
        card = await _submit(story, work, cards)
        await card.shows("Pending", f"It is waiting for {work.gpus} GPUs of {FLAVOR}")


async def _the_rest_share(story: Story, stage: Stage, cards: dict[str, Card]) -> None:
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
    """Everybody's quota reads as the stage says, and so do the queues themselves."""
    await story.rest()
    carol = story.person("Carol")
    await carol.types("#team-c", "/quota status --all")
    await carol.is_told("GPU quota of all teams", *(_row(stage, team) for team in QUOTAS))


async def _reads(story: Story, card: Card, expected: str) -> None:
    """Waits until a card says this and nothing else, whatever the day."""

    def shown() -> str:
        return _MADE.sub("-...", _MOMENT.sub("...", card.text))

    await story.until(
        lambda: shown() == expected,
        lambda: f"the card does not read\n{expected}\nbut\n{shown()}",
    )


def _preempted_card(work: Work, taker: Work, stage: Stage) -> str:
    """The whole card of a run that gave its GPUs back to another, with nothing free."""
    others = ", ".join(
        f"{team} uses {stage.allocated[team]} of its {QUOTAS[team]}"
        for team in QUOTAS
        if team != work.team
    )
    return f"""\
⏳ {work.name} · Preempted, waiting again
Waiting since ....
Its GPUs were borrowed, and the team they belong to needed them back. They went to {taker.name} \
of {taker.team}. {_why(work, stage)}
It restarts automatically when GPUs are available for it.
It is number 1 in its queue.
Other teams: {others}.
It starts when other runs end, or sooner with more quota: `/quota request +{work.gpus} --for 1d \
--reason "..."`.
  *Image*: `{work.image}`
  *GPUs*: {work.gpus}
  *By*: {PEOPLE[work.team].lower()}
  *Where*: `{work.team}/{work.name}-...`
  *Submitted*: ...
  *Started*: ...
  *Last line*: `... Found 1281167 training images, batch size 32`
[Logs]  [Stop]"""


def _why(work: Work, stage: Stage) -> str:
    """What such a run waits for."""
    used, quota = stage.allocated[work.team], QUOTAS[work.team]
    return (
        f"It is waiting for {work.gpus} GPUs of {FLAVOR}; 0 can be used now: {work.team} uses"
        f" {used} of its nominal quota of {quota}, and 0 can be borrowed."
    )


def _row(stage: Stage, team: str) -> str:
    used, quota, waits = stage.allocated[team], QUOTAS[team], waiting_gpus(stage, team)
    gpus = f"{sum(waits)} GPUs" if waits else ""
    pending = f"{len(waits)} ({gpus})" if waits else "0"
    return f"{team} | {FLAVOR} | {quota} | {used} | {max(0, used - quota)} | 0 | {pending}"
