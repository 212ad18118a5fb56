"""People work from their Home tabs: first steps, runs, decisions, and what only some may see."""

from datetime import datetime

from playground.cluster.control.training import Line, Training
from playground.settings import Setup
from playground.story.home import OpenHome
from playground.story.person import Person
from playground.story.steps import asks_for_gpus, is_admitted
from playground.story.story import Story

SETUP = Setup(
    settings={
        "training": {
            "links": [
                {"label": "W&B", "in_log": "https://wandb.ai/*/*/runs/*"},
                {
                    "label": "Grafana",
                    "url": "https://grafana.example.com/d/gpu?from={started}&to={ended}",
                },
            ]
        }
    }
)
RUN = {"name": "lane", "image": "ghcr.io/acme/lane:3.1", "gpus": "2"}


async def play(story: Story) -> None:
    """Alice starts and stops a run, Carol approves GPUs, Erin watches; Dan sees nothing."""
    alice, erin = story.person("Alice"), story.person("Erin")
    story.trains("ghcr.io/acme/lane", never_ends=True, log=_log)
    await _a_guest_sees_nothing(story)
    home = await alice.opens_home()
    await home.shows("Your teams: team-a (member).", "First steps", "GPUs of team-a")
    await home.clicks("Submit training")
    form = await alice.is_asked("/train submit")
    await form.is_sent(**RUN, command="python train.py")
    await alice.is_written_to("Submitted run lane with 2 GPUs")
    card = await alice.is_written_to("lane ·")
    await is_admitted(story, card)
    await home.shows("Your runs (1)", "lane · Running since", "2 of 4 GPUs")
    await home.shows("Open in W&B · Grafana")
    await home.hides("First steps")
    await home.clicks("Logs")
    await alice.is_written_to("Log of lane")
    hers = await erin.opens_home()
    await hers.shows("team-a (lead)", "The team has 1 live run of 1 person.")
    carols = await _carol_decides(story, alice)
    await home.clicks("Stop", confirming="Stop lane?")
    await alice.is_written_to("Stopping lane.", "/train resubmit lane starts it again.")
    await story.reply(card, "stopped")
    await home.shows("None of your runs is live.", "lane · Stopped after", "Open in W&B · Grafana")
    await hers.shows("The team has no live runs.")
    await home.clicks("By direct message")
    await alice.is_written_to("How you are notified", "a direct message with a link")
    await home.shows("you get a direct message.")
    await carols.shows("No team has live runs.")  # read again every 30 s, for all tabs


def _log(_training: Training, started: datetime, until: datetime) -> list[Line]:
    """A program that says at its start where its figures go."""
    said = (started, "wandb: 🚀 View run at https://wandb.ai/acme/lane/runs/x7q")
    return [said] if started <= until else []


async def _a_guest_sees_nothing(story: Story) -> None:
    home = await story.person("Dan").opens_home()
    await home.shows("Guests and people from other workspaces cannot use Quartermaster.")
    await home.hides("team-a", "GPUs")


async def _carol_decides(story: Story, alice: Person) -> OpenHome:
    carol = story.person("Carol")
    home = await carol.opens_home()
    await home.shows("You are a platform admin.", "Platform", "working")
    own, request = await asks_for_gpus(
        story,
        alice,
        "+2 --for 1d --reason deadline",
        title="Quota override for team-a",
        receipt="Requested for team-a",
    )
    await home.shows("Waiting for your decision (1)", "deadline")
    await home.clicks("Approve")
    await carol.is_written_to("You approved this request.")
    await home.hides("Waiting for your decision (1)")
    await request.shows("Active")
    await story.reply(own, "approved by @Carol: nominal quota", "until")
    return home
