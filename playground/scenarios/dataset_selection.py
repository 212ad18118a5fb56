"""Files of a version are selected by paths and labels, recorded as a version, cached and read."""

import hashlib
import re

from playground.bucket import NAMESPACE
from playground.scenarios.dataset_runs import READER, SETUP
from playground.story.person import Person
from playground.story.steps import is_admitted, is_recorded
from playground.story.story import Story

_LABELS = b"image,split\n00.png,train\n01.png,train\n02.png,test\n"
_IMAGES = {f"images/{number:02}.png": bytes([number]) * 1000 for number in range(4)}
_SELECTED = {key: _IMAGES[key] for key in ("images/00.png", "images/01.png")}
_CLAIMS, _VOLUMES = "persistentvolumeclaims", "persistentvolumes"
_SELECT = "/dataset version chest-xray --from v1"

__all__ = ["SETUP", "play"]


async def play(story: Story) -> None:
    """Refused without a name, recorded, compared, cached and read; the newest stays the newest."""
    story.allowed_writes |= {f"create {_CLAIMS}", f"create {_VOLUMES}"}
    alice = story.person("Alice")
    for key, content in (_IMAGES | {"labels.csv": _LABELS}).items():
        story.bucket.put(f"chest-xray/{key}", content)
    await alice.types("#team-a", "/dataset add chest-xray s3://lake/chest-xray/")
    await alice.is_told("Added dataset chest-xray of team-a.")
    await is_recorded(story, alice, "v1", "5 objects, 4.0 kB.")
    await _what_is_incomplete_is_refused(alice)
    await alice.types("#team-a", f"{_SELECT} --path trian/ --name wrong")
    await alice.is_told("Recording chest-xray@wrong. The manifest is read, not the objects.")
    card = await story.card("#team-a", "chest-xray@wrong")
    await card.shows("Not recorded", "None of its files is selected.")
    await alice.is_mentioned(
        "#team-a", "chest-xray@wrong was not recorded.", thread=card, broadcast=True
    )
    await _the_selection_is_recorded(story, alice)
    await _the_selection_is_read(story, alice)


async def _what_is_incomplete_is_refused(alice: Person) -> None:
    await alice.types("#team-a", f"{_SELECT} --path images/")
    await alice.is_told("Name the selection with --name.")
    await alice.types("#team-a", f"{_SELECT} --label split=train --name train")
    await alice.is_told("--label selects by a file of the version, which --labels names; use both.")
    await alice.types("#team-a", "/dataset version chest-xray --path images/")
    await alice.is_told("Name the version to select files of with --from.")


async def _the_selection_is_recorded(story: Story, alice: Person) -> None:
    criteria = "--path 'images/*' --labels labels.csv --label split=train"
    await alice.types("#team-a", f"{_SELECT} {criteria} --name train")
    await alice.is_told("Recording chest-xray@train.")
    card = await story.card("#team-a", "chest-xray@train")
    await card.shows("Recorded", "chest-xray@v1", "images/", "split=train", "labels.csv")
    await alice.is_mentioned(
        "#team-a", "chest-xray@train is recorded: 2 objects, 2.0 kB.", thread=card
    )
    await alice.types("#team-a", "/dataset diff chest-xray@v1 chest-xray@train")
    await alice.is_told("Comparing chest-xray@v1 with chest-xray@train…")
    await alice.is_told("labels.csv", "images/02.png")
    await alice.types("#team-a", "/dataset ls chest-xray")
    await alice.is_told("Reading the manifest of chest-xray@v1…")
    await alice.is_told("chest-xray@v1", "labels.csv")


async def _the_selection_is_read(story: Story, alice: Person) -> None:
    await alice.types("#team-a", "/dataset cache chest-xray@train --yes")
    await alice.is_told("Caching chest-xray@train on premium.")
    card = await story.card("#team-a", "chest-xray@train on premium")
    await card.shows("Ready", re.compile("all 2: 2 by MD5"))
    await alice.is_mentioned("#team-a", "chest-xray@train is cached on premium", thread=card)
    (claim,) = story.objects(_CLAIMS, NAMESPACE)
    if story.files(NAMESPACE, claim) != _SELECTED:
        story.fail(f"its files are {sorted(story.files(NAMESPACE, claim))}")
    data = "chest-xray@train:/data"
    await alice.types("#team-a", f"/train submit reader --image {READER} --data {data}")
    await alice.is_told("Submitted run reader", "Data: chest-xray@train at /data.")
    run = await story.card("#team-a", "reader", "chest-xray@train at /data, read-only")
    await is_admitted(story, run)
    digest = hashlib.sha256(b"".join(_SELECTED[key] for key in sorted(_SELECTED)))
    await run.shows("Succeeded", f"read 2 files with {digest.hexdigest()[:12]}")
    await alice.is_mentioned("#team-a", "reader succeeded", thread=run)
