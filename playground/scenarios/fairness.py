"""Four teams share sixteen GPUs: they borrow, give back, queue, and share what a team leaves."""

import re
from datetime import timedelta

from playground.cluster.cluster import Cluster
from playground.settings import Setup
from playground.slack.workspace import Workspace
from playground.story.fairness import (
    FLAVOR,
    GPU_TENTHS,
    INTERACTIVE,
    QUOTAS,
    Stage,
    Work,
    works,
)
from playground.story.fairness_steps import (
    PEOPLE,
    SETTINGS,
    add_channels,
    goes_through_stages,
    submit,
)
from playground.story.person import Card
from playground.story.shared_gpus import share_gpus
from playground.story.steps import is_admitted
from playground.story.story import Story

_MOMENT = re.compile(r"[A-Z][a-z]{2} \d+ \d\d:\d\d UTC|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_MADE = re.compile(r"-[0-9a-f]{10}\b")


def _arrange(cluster: Cluster, workspace: Workspace) -> None:
    share_gpus(cluster)
    add_channels(workspace)


SETUP = Setup(
    settings={
        **SETTINGS,
        "clusters": {
            "default": {
                "excluded_resources": ["cpu", "memory"],
                "fractions": {"units": {"resource": GPU_TENTHS}},
            }
        },
    },
    arrange=_arrange,
)


async def play(story: Story) -> None:
    """Interactive work has the higher priority; no quota is ever raised."""
    await goes_through_stages(story, INTERACTIVE, _borrowers_give_back)


async def _borrowers_give_back(story: Story, stage: Stage, cards: dict[str, Card]) -> None:
    await story.pass_time(timedelta(minutes=1))  # the logs of the borrowers are read
    for work, loser in zip(stage.submits, stage.waits, strict=True):
        card = await submit(story, work, cards, INTERACTIVE)
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
