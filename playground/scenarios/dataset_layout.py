"""ImageNet's validation images are sorted into a folder per class before the cache is ready."""

import re

from playground.bucket import NAMESPACE
from playground.cluster.cluster import Cluster
from playground.settings import Setup
from playground.slack.workspace import Workspace
from playground.story.person import Person
from playground.story.steps import is_recorded
from playground.story.story import Story

LAYOUTS = "ghcr.io/acme/layouts:1.0"
_CLASSES = {1: "n01751748", 2: "n09193705", 3: "n01751748"}
_IMAGES = {f"ILSVRC2012_val_{number:08}.JPEG": bytes([number]) * 1000 for number in _CLASSES}
# As in docs/datasets.md, where the list of classes is a file of the image.
_ARRANGE = (
    "cd val && while read file class; do mkdir -p $class;"
    " [ ! -e $file ] || mv $file $class/; done <<END\n"
    + "\n".join(f"ILSVRC2012_val_{number:08}.JPEG {name}" for number, name in _CLASSES.items())
    + "\nEND"
)
_BREAK = "echo class.txt is not in this image; exit 65"


def _arrange(cluster: Cluster, _workspace: Workspace) -> None:
    cluster.programs.images[LAYOUTS] = ()


SETUP = Setup(
    bucket=True,
    arrange=_arrange,
    settings={
        "datasets": {
            "layouts": {
                "imagenet": {"image": LAYOUTS, "command": ["sh", "-c", _ARRANGE]},
                "broken": {"image": LAYOUTS, "command": ["sh", "-c", _BREAK]},
            }
        }
    },
)


async def play(story: Story) -> None:
    """A layout that fails leaves nothing behind; one that works rearranges real bytes."""
    story.allowed_writes |= {f"{verb} persistentvolumeclaims" for verb in ("create", "delete")}
    alice = story.person("Alice")
    for name, content in _IMAGES.items():
        story.bucket.put(f"chest-xray/val/{name}", content)
    await alice.types("#team-a", "/dataset add chest-xray s3://lake/chest-xray/")
    await alice.is_told("Added dataset chest-xray of team-a")
    await is_recorded(story, alice, "v1", "3 objects, 3.0 kB.")
    await _what_fails_is_never_ready(story, alice)
    await _what_works_is_ready(story, alice)


async def _what_fails_is_never_ready(story: Story, alice: Person) -> None:
    await alice.types("#team-a", "/dataset cache chest-xray@v1 --layout broken --yes")
    await alice.is_told("Caching chest-xray@v1 on premium.")
    card = await story.card("#team-a", "chest-xray@v1 on premium")
    await card.shows(
        "Not cached",
        "Its layout broken failed. It exited with code 65.",
        "Its last output: class.txt is not in this image",
    )
    await alice.is_mentioned(
        "#team-a", "chest-xray@v1 was not cached. Its layout broken failed.",
        "Fix datasets.layouts.broken of quartermaster.yaml, then cache it again.",
        thread=card, broadcast=True,
    )  # fmt: skip
    await story.until(
        lambda: not story.objects("persistentvolumeclaims", NAMESPACE),
        lambda: f"{story.objects('persistentvolumeclaims', NAMESPACE)} are still there",
    )


async def _what_works_is_ready(story: Story, alice: Person) -> None:
    await alice.types("#team-a", "/dataset cache chest-xray@v1 --layout imagenet --yes")
    await alice.is_told("Caching chest-xray@v1 on premium.")
    card = await story.card("#team-a", "chest-xray@v1 on premium")
    await card.shows("Ready", re.compile("all 3: 3 by MD5"))
    said = "chest-xray@v1 is cached on premium: 3 files, 3.0 kB."
    await alice.is_mentioned("#team-a", said, thread=card)
    (claim,) = story.objects("persistentvolumeclaims", NAMESPACE)
    arranged = {
        f"val/{_CLASSES[number]}/{name}": content
        for number, (name, content) in zip(_CLASSES, _IMAGES.items(), strict=True)
    }
    if story.files(NAMESPACE, claim) != arranged:
        story.fail(f"its files are not arranged: {sorted(story.files(NAMESPACE, claim))}")
