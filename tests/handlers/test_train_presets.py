"""/train submit --preset, and /train presets."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import col, select

from bot.config import Preset
from bot.training.spec import RunSpec, spec_of
from bot.training.submission.presets import presets_of
from bot.training.tables import Run
from tests.bot.training.rig import settings
from tests.handlers.command_client import ALICE, BOB, TEAM_A, TEAM_B, CommandClient, opened
from tests.playground.cluster.served import Served

PRESETS = """\
presets:
  resnet:
    purpose: ResNet-50
    image: ghcr.io/acme/resnet:2.0
    gpus: 2
    time: 8h
    env: [BATCH=256, EPOCHS=90]
    pvc: ["imagenet:/data:ro"]
    command: [python, train.py]
    locked: [image, pvc, priority]
  broken: {image: "ghcr.io/acme/lane:1", gpus: many}
"""


@pytest.fixture
def client(tmp_path: Path, database_url: str, served: Served) -> Iterator[CommandClient]:
    with opened(tmp_path, database_url, served, PRESETS) as opened_client:
        yield opened_client


def submitted(client: CommandClient) -> RunSpec:
    """The newest run."""
    newest_first = select(Run).order_by(col(Run.id).desc())
    found = client.application.database.read(lambda s: s.exec(newest_first).first())
    assert found is not None
    return spec_of(found)


def test_a_preset_says_what_was_left_out(client: CommandClient) -> None:
    answer = client.says(ALICE, TEAM_A, "/train submit lane --preset resnet")
    assert answer.splitlines()[0] == (
        "Submitted run `lane` with 2 GPUs, 16 cores and 144Gi memory (including 16Gi of /dev/shm),"
        " for team-a."
    )
    spec = submitted(client)
    assert (spec.image, spec.command, spec.time_limit_seconds, spec.preset) == (
        "ghcr.io/acme/resnet:2.0",
        ("python", "train.py"),
        8 * 3600,
        "resnet",
    )
    assert [each.name for each in spec.env] == ["BATCH", "EPOCHS"]
    assert [(each.claim, each.path, each.read_only) for each in spec.mounts] == [
        ("imagenet", "/data", True)
    ]


def test_what_is_typed_wins_over_presets(client: CommandClient) -> None:
    client.says(
        ALICE,
        TEAM_A,
        "/train submit lane --preset resnet --gpus 0 --env EPOCHS=1 --env MORE=1 -- python eval.py",
    )
    spec = submitted(client)
    assert (int(spec.gpus), spec.command) == (0, ("python", "eval.py"))
    assert {each.name: each.value for each in spec.env} == {
        "BATCH": "256",
        "EPOCHS": "1",
        "MORE": "1",
    }


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        (
            "--preset resnet --image lane:1",
            [
                "`--image` is locked by preset resnet: it is ghcr.io/acme/resnet:2.0.",
                "Leave it out, or submit without `--preset resnet`.",
            ],
        ),
        (
            "--preset resnet --pvc team-a-data:/more",
            [
                "`--pvc` is locked by preset resnet: it is imagenet:/data:ro.",
                "Leave it out, or submit without `--preset resnet`.",
            ],
        ),
        (
            "--preset resnet --priority high",
            [
                "`--priority` is locked by preset resnet: it stays unset.",
                "Leave it out, or submit without `--preset resnet`.",
            ],
        ),
        (
            "--preset resnte",
            ["There is no preset resnte.", "Your team has: broken, resnet."],
        ),
        (
            "--preset broken",
            [
                (
                    "Preset broken sets gpus to many, but that takes a number of GPUs from 0 to"
                    " 1024, or a fraction of one such as `0.5`."
                ),
                "A platform admin has to correct it in quartermaster.yaml.",
            ],
        ),
        (
            "--gpus 1",
            [
                "`--image IMAGE` is missing, and no preset sets it.",
                "Add it, for example `--image ghcr.io/acme/lane:3.1`.",
            ],
        ),
    ],
)
def test_what_cannot_be_is_refused(client: CommandClient, options: str, answer: list[str]) -> None:
    assert client.says(ALICE, TEAM_A, f"/train submit lane {options}").splitlines() == answer


def test_the_locked_value_itself_may_be_typed(client: CommandClient) -> None:
    words = "/train submit lane --preset resnet --image ghcr.io/acme/resnet:2.0"
    assert client.says(ALICE, TEAM_A, words).startswith("Submitted run `lane`")


def test_presets_are_listed_with_what_they_lock(client: CommandClient) -> None:
    title, *rows = client.says(ALICE, TEAM_A, "/train presets").splitlines()
    assert title == "Presets of team-a"
    assert [re.split(r"\s{2,}", row.strip()) for row in rows] == [
        ["Preset", "For", "Sets", "Locked"],
        ["broken", "--image ghcr.io/acme/lane:1 --gpus many"],
        [
            "resnet",
            "ResNet-50",
            (
                "--image ghcr.io/acme/resnet:2.0 --gpus 2 --env BATCH=256 EPOCHS=90"
                " --pvc imagenet:/data:ro --time 8h -- python train.py"
            ),
            "--image --pvc --priority",
        ],
    ]


def test_without_presets_that_is_said(tmp_path: Path, database_url: str, served: Served) -> None:
    with opened(tmp_path, database_url, served) as plain:
        assert plain.says(ALICE, TEAM_A, "/train presets").splitlines() == [
            "Presets of team-a",
            "There are none. Platform admins define them in quartermaster.yaml.",
        ]
        assert plain.says(BOB, TEAM_B, "/train submit a --preset b").splitlines() == [
            "There is no preset b.",
            "Your team has none; submit without `--preset`.",
        ]


def test_a_preset_of_the_team_wins() -> None:
    policy = settings(presets={"resnet": {"image": "resnet:9"}, "own": {"gpus": 1}})
    shared = Preset(image="resnet:2"), Preset(cpu="4")
    everywhere = dict(zip(("resnet", "shared"), shared, strict=True))
    policy = policy.model_copy(update={"presets": everywhere})
    found = presets_of(policy, policy.teams["team-a"])
    assert {name: each.options() for name, each in found.items()} == {
        "resnet": {"image": "resnet:9"},
        "shared": {"cpu": "4"},
        "own": {"gpus": "1"},
    }
