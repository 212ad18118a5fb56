"""People drop files into a channel and save them as a dataset, or read why they cannot."""

from playground.bucket import NAMESPACE
from playground.settings import Setup
from playground.story.person import Card, Person
from playground.story.story import Story

SETUP = Setup(bucket=True)
_TARGET = "s3://lake/labels/"
_FILES = {
    "train.csv": b"study,label\n1,0\n",
    "Größe/alle.csv": b"study,size\n1,40\n",
    "scan.bin": bytes(range(256)) * 40_000,
}
_KEYS = {"Größe/alle.csv": "Größe_alle.csv"}
_WANTED = {_KEYS.get(name, name): content for name, content in _FILES.items()}
_MORE = {"test.csv": b"study,label\n2,1\n"}
_MENU = "Save files as a dataset"


async def play(story: Story) -> None:
    """Three files become a dataset, one more its second version; three messages are refused."""
    alice = story.person("Alice")
    dropped = await alice.drops("#team-a", _FILES)
    version = await _is_saved(story, alice, dropped)
    await _a_reply_becomes_another_version(story, alice, version)
    await _words_alone_have_no_files(alice, version)
    await _a_deleted_file_is_refused(story, alice)
    await _what_the_app_may_not_read_is_refused(story, alice)
    await story.until(lambda: not _jobs(story), lambda: f"{_jobs(story)} are still there")


async def _is_saved(story: Story, alice: Person, dropped: Card) -> Card:
    await alice.uses(_MENU, dropped)
    form = await alice.is_asked("/dataset put")
    await form.is_sent(dataset="labels", target=_TARGET, version="v1", note="from the clinic")
    await alice.is_told(f"Copying the files of that message to {_TARGET}.")
    card = await story.card("#team-a", f"Files from Slack to {_TARGET}")
    await card.shows("Pushed", "3 by MD5", "It is recorded as labels@v1")
    told = f"Files from Slack were pushed to {_TARGET}: 3 files, 10 MB."
    await alice.is_mentioned("#team-a", told, "Recording it as labels@v1.", thread=card)
    version = await _is_recorded(story, alice, "v1", "3 objects, 10 MB.")
    if story.bucket.objects("labels/") != _WANTED:
        story.fail(f"{_TARGET} has {sorted(story.bucket.objects('labels/'))}")
    return version


async def _a_reply_becomes_another_version(story: Story, alice: Person, version: Card) -> None:
    reply = await alice.drops("#team-a", _MORE, thread=version)
    await alice.uses(_MENU, reply)
    form = await alice.is_asked("/dataset put")
    await form.is_sent(dataset="labels")
    await alice.is_told(f"Copying the files of that message to {_TARGET}.")
    pushed = await story.card("#team-a", f"Files from Slack to {_TARGET}")
    await pushed.shows("Pushed", "1 by MD5", "It is recorded as labels@v2")
    told = f"Files from Slack were pushed to {_TARGET}: 1 file, 16 bytes."
    await alice.is_mentioned("#team-a", told, "Recording it as labels@v2.", thread=pushed)
    await _is_recorded(story, alice, "v2", "4 objects, 10 MB.")
    if story.bucket.objects("labels/") != _WANTED | _MORE:
        story.fail(f"{_TARGET} has {sorted(story.bucket.objects('labels/'))}")


async def _words_alone_have_no_files(alice: Person, version: Card) -> None:
    await alice.uses(_MENU, version)
    await alice.is_told("This message has no files.")


async def _a_deleted_file_is_refused(story: Story, alice: Person) -> None:
    dropped = await alice.drops("#team-a", {"old.csv": b"gone"})
    dropped.message.files[0].is_deleted = True
    why = "A file of the message was deleted."
    await _fails(story, alice, dropped, why, "s3://lake/old/")


async def _what_the_app_may_not_read_is_refused(story: Story, alice: Person) -> None:
    dropped = await alice.drops("#team-a", {"new.csv": b"secret"})
    story.world.slack.scopes.discard("files:read")
    story.expects_refusal("files.info", "missing_scope")
    why = "its Slack app lacks the scope files:read."
    await _fails(story, alice, dropped, why, "s3://lake/new/")


async def _fails(story: Story, alice: Person, dropped: Card, why: str, target: str) -> None:
    await alice.uses(_MENU, dropped)
    form = await alice.is_asked("/dataset put")
    await form.is_sent(dataset="refused", target=target)
    await alice.is_told(f"Copying the files of that message to {target}.")
    card = await story.card("#team-a", f"Files from Slack to {target}")
    await card.shows("Not pushed", why)
    told = f"Files from Slack were not pushed to {target}."
    await alice.is_mentioned("#team-a", told, thread=card, broadcast=True)


async def _is_recorded(story: Story, alice: Person, name: str, amount: str) -> Card:
    card = await story.card("#team-a", f"labels@{name}")
    await card.shows("Recorded")
    await alice.is_mentioned("#team-a", f"labels@{name} is recorded: {amount}", thread=card)
    return card


def _jobs(story: Story) -> list[str]:
    return [each for each in story.objects("jobs", NAMESPACE) if each.startswith("push-")]
