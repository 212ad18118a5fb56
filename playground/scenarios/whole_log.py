"""A long log is sent as a file, whole and once, only to the person who asked, despite a crash."""

from datetime import datetime, timedelta

from playground.cluster.control.training import Line, Training
from playground.ledger import Fault
from playground.story.steps import is_admitted, submits
from playground.story.story import Story

_SECONDS, _LINES = 60, 1_500
_COMPLETE = "files.completeUploadExternal"


async def play(story: Story) -> None:
    """The bot is killed as soon as Slack has shared the file, and does not share it again."""
    alice, slack = story.person("Alice"), story.world.slack
    story.trains("ghcr.io/acme/talks", fails_after=_SECONDS, exit_code=1, log=_log)
    command = "--image ghcr.io/acme/talks:1 --gpus 1 -- python train.py"
    card = await submits(story, alice, "#team-a", "talks", command)
    await is_admitted(story, card)
    for attempt in (1, 2):
        await story.reply(card, f"Attempt {attempt} of 3 failed.", f"step {_LINES - 1} ")
    await card.shows("Failed after")
    await alice.is_mentioned("#team-a", "talks failed", thread=card, broadcast=True)
    story.world.ledger.by_name[_COMPLETE] = [Fault.KILL_AFTER]
    await alice.types("#team-a", "/train logs talks --tail 5000")
    await alice.is_told("(1,500 lines, ", " is in the file talks.log,", f"step {_LINES - 1} ")
    await alice.is_written_to("Log of talks, as requested in #team-a: talks.log")
    requests = story.world.ledger.requests
    await story.until(
        lambda: any(each.name == "conversations.history" for each in requests),
        lambda: "the bot does not look for its file",
    )
    await alice.types("#team-a", "/train logs talks --tail 2")
    await alice.is_told("Log of talks", f"step {_LINES - 2} ")
    [file] = slack.files.values()
    lines = file.content.decode().splitlines()
    if lines != [_line(number) for number in range(_LINES)]:
        story.fail(f"the file has {len(lines)} lines, from {lines[:1]} to {lines[-1:]}")


def _log(training: Training, started: datetime, until: datetime) -> list[Line]:
    """So many lines, evenly until it ends."""
    step = timedelta(seconds=(training.fails_after or _SECONDS) / _LINES)
    said = min(int((until - started) / step), _LINES)
    return [(started + number * step, _line(number)) for number in range(said)]


def _line(number: int) -> str:
    return f"step {number} of a run that tells all it does"
