"""What quartermaster.yaml may say of datasets and stores, and what people read when it is wrong."""

from pathlib import Path

import pytest

from tests.bot.config.files import GOOD, load, refusal

DATASETS = """\
stores:
  lake:
    secret: lake-keys
    teams: [team-a]
datasets:
  namespace: datasets
  image: ghcr.io/acme/quartermaster:0.1.0
  state: s3://qm-state/datasets
  state_store: lake
"""


def test_stores_and_datasets_have_sensible_defaults(tmp_path: Path) -> None:
    settings = load(tmp_path, GOOD + DATASETS)
    store, datasets = settings.stores["lake"], settings.datasets
    assert (store.endpoint, store.region, store.path_style) == (None, "us-east-1", False)
    assert datasets is not None
    assert (datasets.state, datasets.cluster) == ("s3://qm-state/datasets/", "default")
    assert (datasets.uid, datasets.gid) == (10001, 10001)


def test_a_store_serves_nobody_unless_told(tmp_path: Path) -> None:
    settings = load(tmp_path, GOOD + "stores: {lake: {}}\n")
    assert settings.stores["lake"].teams == ()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "teams: [team-a]",
            "teams: [team-x]",
            "quartermaster.yaml line 12: there is no team team-x; did you mean team-a?",
        ),
        (
            "state_store: lake",
            "state_store: lak",
            "quartermaster.yaml line 17: lak is not in stores; did you mean lake?",
        ),
        (
            "  namespace: datasets",
            "  namespace: datasets\n  cluster: lab",
            "quartermaster.yaml line 15: lab is not in clusters; it may be: default.",
        ),
        (
            "namespace: datasets",
            "namespace: team-a",
            (
                "quartermaster.yaml line 14: team-a is the namespace of team-a, whose runs could"
                " read the keys of stores; take one for nothing else."
            ),
        ),
        (
            "state: s3://qm-state/datasets",
            "state: qm-state",
            (
                'quartermaster.yaml line 16: datasets.state is "qm-state"; it must be a bucket,'
                " with a folder in it where that is wanted, like s3://quartermaster-state/datasets."
            ),
        ),
        (
            "secret: lake-keys",
            "endpoint: https://me:secret@grid.example.com",
            (
                "quartermaster.yaml line 11: this address has a password;"
                " keys of stores belong into a Secret."
            ),
        ),
        (
            "  image: ghcr.io/acme/quartermaster:0.1.0\n",
            "",
            (
                "quartermaster.yaml line 13: datasets needs image."
                " The bot's own image, which the pods there run."
            ),
        ),
    ],
)
def test_each_mistake_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert refusal(tmp_path, GOOD + DATASETS.replace(old, new)) == message
