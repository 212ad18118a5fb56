"""Alice looks into a version of a dataset: its folders, its largest files, how a file begins."""

import gzip

from playground.settings import Setup
from playground.story.person import Person
from playground.story.steps import is_recorded
from playground.story.story import Story

SETUP = Setup(bucket=True, settings={"datasets": {"show_content": True}})
_ADD = "/dataset add chest-xray s3://lake/chest-xray/"


async def play(story: Story) -> None:
    """List, page, search, the first lines, wrong names, another team, a file that changed."""
    alice, bob = story.person("Alice"), story.person("Bob")
    for number in range(50):
        story.bucket.put(f"chest-xray/train/{number:03}.png", b"\x89PNG\r\n\x1a\n" + bytes(number))
    story.bucket.put("chest-xray/labels.csv", b"image,finding\n000.png,none\n001.png,mass\n")
    story.bucket.put("chest-xray/notes.txt.gz", gzip.compress(b"frontal views\n", mtime=0))
    await alice.types("#team-a", _ADD)
    await alice.is_told("Added dataset chest-xray of team-a.")
    await is_recorded(story, alice, "v1", "52 objects")
    await _folders_are_listed(alice)
    await _files_are_found(alice)
    await _first_lines_are_shown(alice)
    await bob.types("#team-b", "/dataset ls chest-xray")
    await bob.is_told("There is no dataset chest-xray for team-b.")
    await bob.types("#team-b", "/dataset head chest-xray labels.csv")
    await bob.is_told("There is no dataset chest-xray for team-b.")
    await _what_changed_is_not_shown(story, alice)


async def _folders_are_listed(alice: Person) -> None:
    await alice.types("#team-a", "/dataset ls chest-xray")
    await alice.is_told("Reading the manifest of chest-xray@v1…")
    await alice.is_told(
        "chest-xray@v1", "52 files,", "labels.csv | 40 bytes", "train/ | 1.6 kB | 50"
    )
    await alice.types("#team-a", "/dataset ls chest-xray train/ --largest")
    await alice.is_told("Reading the manifest of chest-xray@v1…")
    first = await alice.is_told(
        "chest-xray@v1: train/",
        "Rows 1 to 40 of 50, the largest first.",
        "/dataset ls chest-xray@v1 train --largest --page 2",
        "049.png | 57 bytes",
    )
    if first is not None:
        await alice.clicks(first, "Next page")
        await alice.is_told("Reading the manifest of chest-xray@v1…")
        await alice.is_told("Rows 41 to 50 of 50, the largest first.", "000.png | 8 bytes")
    await alice.types("#team-a", "/dataset ls chest-xray@v1 train --largest --page 3")
    await alice.is_told("Reading the manifest of chest-xray@v1…")
    await alice.is_told("There is no page 3.", "There are pages 1 to 2.")


async def _files_are_found(alice: Person) -> None:
    await alice.types("#team-a", "/dataset ls chest-xray --search '*.CSV'")
    await alice.is_told("Reading the manifest of chest-xray@v1…")
    await alice.is_told("1 file, 40 bytes.", "labels.csv | 40 bytes")
    await alice.types("#team-a", "/dataset ls chest-xray trian/001.png")
    await alice.is_told("Reading the manifest of chest-xray@v1…")
    await alice.is_told(
        "chest-xray@v1 has no file or folder trian/001.png.", "Did you mean train/?"
    )
    await alice.types("#team-a", "/dataset ls chest-xray labels.csv")
    await alice.is_told("Reading the manifest of chest-xray@v1…")
    await alice.is_told(
        "chest-xray@v1: labels.csv", "/dataset head chest-xray@v1 labels.csv shows its first lines."
    )


async def _first_lines_are_shown(alice: Person) -> None:
    await alice.types("#team-a", "/dataset head chest-xray labels.csv --lines 2")
    await alice.is_told("Reading labels.csv of chest-xray@v1…")
    await alice.is_told("Its first 2 lines; it has 40 bytes.", "image,finding\n000.png,none")
    await alice.types("#team-a", "/dataset head chest-xray notes.txt.gz")
    await alice.is_told("Reading notes.txt.gz of chest-xray@v1…")
    await alice.is_told("The whole file, 1 line;", "Decompressed from gzip.", "frontal views")
    await alice.types("#team-a", "/dataset head chest-xray train/001.png")
    await alice.is_told("Reading train/001.png of chest-xray@v1…")
    await alice.is_told("This file is a PNG image.", "Only text is shown.")


async def _what_changed_is_not_shown(story: Story, alice: Person) -> None:
    story.bucket.put("chest-xray/labels.csv", b"image,finding\n000.png,mass\n001.png,mass\n")
    await alice.types("#team-a", "/dataset head chest-xray labels.csv")
    await alice.is_told("Reading labels.csv of chest-xray@v1…")
    await alice.is_told(
        "labels.csv changed after the version was recorded.", "Record a new version of the dataset."
    )
    await alice.types("#team-a", "/dataset ls chest-xray labels.csv")
    await alice.is_told("Reading the manifest of chest-xray@v1…")
    await alice.is_told("chest-xray@v1: labels.csv")
