"""Places in object stores: one spelling each, whatever takes it."""

from pathlib import Path

import pytest

from bot.config import is_place
from tests.bot.config.files import GOOD, load, refusal
from tests.bot.config.test_datasets import DATASETS

TOP = "quartermaster.yaml line"


@pytest.mark.parametrize(
    "url",
    [
        "s3://lake",
        "s3://lake/",
        "s3://lake/team-a",
        "s3://lake/team-a/",
        "s3://lake/date=2026-11-21/hour=%20/a.b..c/...",
        "s3://lake/Übung/données/",
        "gs://lake_of_data/team-a/",
    ],
)
def test_usual_places_are_taken(url: str) -> None:
    assert is_place(url)


@pytest.mark.parametrize(
    "url",
    [
        "s3://Lake/team-a/",
        "S3://lake/team-a/",
        "s3://lake_of_data/team-a/",
        "gs://Lake/team-a/",
        "s3://lake//team-a/",
        "s3://lake/team-a//",
        "s3://lake//",
        "s3://lake/x/../team-a/",
        "s3://lake/x/..",
        "s3://lake/./team-a/",
        "s3://lake/x/%2e%2e/team-a/",
        "s3://lake/x/%2E./team-a/",
        "s3://lake/x/%252e%252e/team-a/",
        "s3://lake/team-a%2f..%2fteam-b/",
        "s3://lake/team-a%2fx/",
        "s3://lake/x/\uff0e\uff0e/team-a/",
        "s3://lake/x/\u2025/team-a/",
        "s3://lake/team-a\uff0fx/",
        "s3://lake/team\u200b-a/",
        "s3://lake/team-a%00/",
        "s3://lake/x\\..\\team-a/",
        "s3://lake/team-a/?versionId=1",
        "s3://lake/team-a/\n",
    ],
)
def test_places_with_two_meanings_are_refused(url: str) -> None:
    assert not is_place(url)


def test_places_are_kept_with_a_slash(tmp_path: Path) -> None:
    text = DATASETS.replace("[s3://lake/]", "[s3://lake/team-a, s3://more]")
    store = load(tmp_path, GOOD + text).stores["lake"]
    assert store.places == {"team-a": ("s3://lake/team-a/", "s3://more/")}
    assert store.shared == ()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "    places: {team-a: [s3://lake/]}",
            "    teams: [team-a, team-b]",
            (
                f"{TOP} 12: stores.lake.teams is no longer supported: list the places each team"
                " may use, as places: {team-a: [s3://BUCKET/FOLDER/], team-b: [s3://BUCKET/FOLDER/]}."
            ),
        ),
        (
            "[s3://lake/]",
            "[s3://lake/x/../]",
            (
                f'{TOP} 12: stores.lake.places.team-a[0] is "s3://lake/x/../"; it must be a bucket'
                " and a folder in it, like s3://lake/team-a/, without `.`, `..` or `//`."
            ),
        ),
        (
            "[s3://lake/]",
            "[s3://qm-state/datasets/manifests]",
            (
                f"{TOP} 12: s3://qm-state/datasets/manifests/ is in datasets.state"
                " (s3://qm-state/datasets/), which is for the bot alone; use another place."
            ),
        ),
        (
            "[s3://lake/]",
            "[gs://lake/]",
            f"{TOP} 12: places in a store of type s3 begin with s3://, not as in gs://lake/.",
        ),
        (
            "    places: {team-a: [s3://lake/]}",
            "    type: gcs\n    region: eu\n    places: {team-a: [gs://lake/]}",
            (
                f"{TOP} 13: region is for stores of type s3; remove it.\n"
                f"{TOP} 18: lake is a store of type gcs; begin this address with gs://"
            ),
        ),
        (
            "state: s3://qm-state/datasets",
            "state: s3://qm-state/../lake",
            (
                f'{TOP} 16: datasets.state is "s3://qm-state/../lake"; it must be a bucket,'
                " optionally with a folder in it, like s3://quartermaster-state/datasets."
            ),
        ),
    ],
)
def test_wrong_places_are_named_with_lines(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in DATASETS
    assert refusal(tmp_path, GOOD + DATASETS.replace(old, new)) == message
