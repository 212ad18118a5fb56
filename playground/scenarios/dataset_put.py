"""A person pushes a folder of their computer to a dataset, by a grant that only they see."""

import asyncio
import re
import sys
from pathlib import Path

from playground.bucket import NAMESPACE
from playground.settings import Setup
from playground.story.person import Card, Person
from playground.story.steps import is_recorded
from playground.story.story import Story

SETUP = Setup(bucket=True)
_GRANT = re.compile(r"qmput1\.[\w=-]+")
_OLD = {f"train/{number:02}.png": bytes([number]) * 1000 for number in range(3)}
_NEW = {f"train/{number:02}.png": bytes([number]) * 1000 for number in range(12)}
_LARGE = {"archive.tar": bytes(range(256)) * 40_000}
_FILES = {**_NEW, **_LARGE, "labels.csv": b"study,label\n"}
_TARGET = "s3://lake/chest-xray/"
_ROOT = Path(__file__).parents[2]


async def play(story: Story) -> None:
    """A folder is pushed and recorded; another push is stopped."""
    alice, bob = story.person("Alice"), story.person("Bob")
    for key, content in _OLD.items():
        story.bucket.put(f"chest-xray/{key}", content)
    await alice.types("#team-a", f"/dataset add chest-xray {_TARGET} --readers team-b")
    await alice.is_told("Added dataset chest-xray of team-a. Readers: team-b.")
    await is_recorded(story, alice, "v1", "3 objects, 3.0 kB.")
    await _wrong_words_are_explained(alice, bob)
    card = await _is_expected(story, alice)
    grant = await is_granted(story, alice, card)
    await _another_person_gets_none(story, card)
    await _is_pushed(story, alice, card, grant)
    await _is_stopped(story, alice)
    await story.until(lambda: not _jobs(story), lambda: f"{_jobs(story)} are still there")


async def _wrong_words_are_explained(alice: Person, bob: Person) -> None:
    await bob.types("#team-b", "/dataset put chest-xray")
    await bob.is_told("chest-xray belongs to team-a; only that team can push to it.")
    await alice.types("#team-a", "/dataset put chest-xry")
    await alice.is_told("There is no dataset chest-xry for team-a.", "Did you mean chest-xray?")
    await alice.types("#team-a", "/dataset put chest-xray --name v1")
    await alice.is_told("chest-xray already has a version v1")


async def _is_expected(story: Story, alice: Person) -> Card:
    await alice.types("#team-a", '/dataset put chest-xray --name v2 --note "all studies"')
    await alice.is_told(f"Preparing a push from your computer to {_TARGET}.")
    card = await story.card("#team-a", f"Local folder to {_TARGET}")
    await card.shows("Waiting for files", "the computer of alice")
    await alice.is_mentioned("#team-a", f"files for {_TARGET} can be pushed now", thread=card)
    return card


async def is_granted(story: Story, alice: Person, card: Card) -> str:
    """The grant that she is shown alone by the button of a card."""
    await alice.clicks(card, "Get the command")
    told = await alice.is_told("quartermaster dataset push FOLDER", "Only you can see this.")
    if told is None:
        story.fail("no grant was shown")
    found = _GRANT.search(told.text)
    if found is None:
        story.fail(f"there is no grant in: {told.text}")
    return found.group()


async def _another_person_gets_none(story: Story, card: Card) -> None:
    carol = story.person("Carol")
    await carol.clicks(card, "Get the command")
    await carol.is_told("can get this command: it lets files be pushed in their name.")


async def _is_pushed(story: Story, alice: Person, card: Card, grant: str) -> None:
    folder = story.bucket.folder / "computer"
    for key, content in _FILES.items():
        (folder / key).parent.mkdir(parents=True, exist_ok=True)
        (folder / key).write_bytes(content)
    said = await pushed_from(folder, grant)
    if f"14 files, 10 MB, are in {_TARGET} and verified; 10 MB of them were" not in said:
        story.fail(f"the command printed: {said}")
    await card.shows("Pushed", "14 by MD5", "It is recorded as chest-xray@v2")
    told = f"Local folder was pushed to {_TARGET}: 14 files, 10 MB."
    await alice.is_mentioned("#team-a", told, "Recording it as chest-xray@v2.", thread=card)
    version = await story.card("#team-a", "chest-xray@v2")
    await version.shows("Recorded", "all studies")
    await alice.is_mentioned(
        "#team-a", "chest-xray@v2 is recorded: 14 objects, 10 MB.", thread=version
    )
    if story.bucket.objects("chest-xray/") != _FILES:
        story.fail(f"{_TARGET} has {sorted(story.bucket.objects('chest-xray/'))}")


async def _is_stopped(story: Story, alice: Person) -> None:
    await alice.types("#team-a", "/dataset put chest-xray")
    await alice.is_told(f"Preparing a push from your computer to {_TARGET}.")
    card = await story.card("#team-a", f"Local folder to {_TARGET}")
    await card.shows("Waiting for files")
    await alice.is_mentioned("#team-a", f"files for {_TARGET} can be pushed now", thread=card)
    grant = await is_granted(story, alice, card)
    await alice.clicks(card, "Stop", confirming="Stop this push?")
    await alice.is_told(f"Stopping the push of Local folder to {_TARGET}.")
    await card.shows("Not pushed", "stopped it.")
    told = f"Local folder was not pushed to {_TARGET}."
    await alice.is_mentioned("#team-a", told, thread=card, broadcast=True)
    await story.until(lambda: not _jobs(story), lambda: f"{_jobs(story)} are still there")
    said = await pushed_from(story.bucket.folder / "computer", grant)
    if "The push was stopped" not in said:
        story.fail(f"the command printed: {said}")


async def pushed_from(folder: Path, grant: str) -> str:
    """What `quartermaster dataset push` prints on her computer, which has no keys."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", "dataset", "push", str(folder)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=_ROOT,
        env={"QUARTERMASTER_GRANT": grant, "PYTHONPATH": str(_ROOT)},
    )
    output, _ = await process.communicate()
    return output.decode()


def _jobs(story: Story) -> list[str]:
    return [each for each in story.objects("jobs", NAMESPACE) if each.startswith("push-")]
