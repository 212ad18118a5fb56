"""Commands of guides pasted after /train: shown as ours, and run when the person says so."""

import pytest

from bot.slack.card import Reply
from bot.slack.text import as_text
from tests.handlers.command_client import ALICE, BOB, DAN, FAR, TEAM_A, CommandClient
from tests.handlers.test_train import newest

PASTED = """submit runai submit \\
  --name dist-lane-detection-training-of-tusimple \\
  --large-shm=false --gpu 1 \\
  --image muneer7589/dist-lane-detection:3.1 \\
  -e USE_WORKERS=\u201ctrue\u201d"""
OURS = (
    "/train submit dist-lane-detection-tra-f9b00e --gpus 1"
    " --image muneer7589/dist-lane-detection:3.1 --env USE_WORKERS=true"
)
LONG = "netapp-tensorflow-multi-imagenet-master"


def asked(client: CommandClient, words: str) -> Reply:
    """The answer to what Alice pastes after /train."""
    reply = client.application.dispatcher.answer(
        client.incoming(ALICE, TEAM_A, command="train", words=words)
    )
    assert reply is not None
    return reply


def runs(client: CommandClient) -> str:
    """The runs of the team."""
    return client.says(ALICE, TEAM_A, "/train list")


def test_a_pasted_command_is_shown_and_not_run(client: CommandClient) -> None:
    reply = asked(client, PASTED)
    assert as_text(reply).splitlines() == [
        "This is a command of Run:ai. Here it is:",
        f"`{OURS}`",
        (
            "The run is called `dist-lane-detection-tra-f9b00e` instead of"
            " `dist-lane-detection-training-of-tusimple`: names have at most 30 characters."
        ),
        "Nothing was started yet. Do you want to run it?",
        "  [Run it]",
    ]
    assert "There are no runs." in runs(client)


@pytest.mark.parametrize(
    "words",
    [
        "runai submit lane -i a/lane:1 -e WANDB_API_KEY=0a1b2c3d4e5f6a7b8c9d",
        "runai submit lane -i a/lane:1 --command 'python train.py --password hunter2'",
        "runai submit lane -i a/lane:1 -v /mnt/data:/data -- train --api-key 0a1b2c3d4e5f6a7b8c9d",
    ],
)
def test_a_pasted_secret_is_not_shown(client: CommandClient, words: str) -> None:
    assert as_text(asked(client, words)).splitlines() == [
        "Something in that looks like a secret. None of it was stored.",
        (
            "Send it without the secret. To give a program a Secret of the team's namespace, use"
            " `--secret NAME=secret/key`; the program reads the variable NAME."
        ),
    ]


@pytest.mark.parametrize("person", [DAN, FAR, BOB])
def test_who_may_not_submit_pastes_nothing(client: CommandClient, person: str) -> None:
    pasted = client.says(person, TEAM_A, "/train runai submit lane -i a/lane:1")
    assert pasted == client.says(person, TEAM_A, "/train submit lane --image a/lane:1")
    assert "runai" not in pasted


def test_a_click_runs_it_once(client: CommandClient) -> None:
    (button,) = asked(client, PASTED).buttons
    said = client.clicks(ALICE, TEAM_A, button.action, button.value)
    assert said.splitlines()[0].startswith(
        "Submitted run `dist-lane-detection-tra-f9b00e` with 1 GPU,"
    )
    client.clicks(ALICE, TEAM_A, button.action, button.value)
    assert newest(client).number == 1


def test_only_who_pasted_it_can_run_it(client: CommandClient) -> None:
    (button,) = asked(client, PASTED).buttons
    said = client.clicks(BOB, TEAM_A, button.action, button.value)
    assert said.splitlines()[0] == "This question is for @U0ALICE."
    assert "There are no runs." in runs(client)


def test_a_draft_has_no_button(client: CommandClient) -> None:
    reply = asked(client, "runai submit lane -i a/lane:1 -v /mnt/imagenet:/data")
    assert as_text(reply).splitlines() == [
        "This is a command of Run:ai. Here it is:",
        "`/train submit lane --image a/lane:1 --pvc imagenet:/data`",
        (
            "`-v /mnt/imagenet:/data` mounts a folder of the node, which differs from node to node,"
            " so runs do not mount it. Use a PVC, `--pvc imagenet:/data`, or a dataset,"
            " `--data imagenet:/data`, with the name of yours for `imagenet`."
        ),
        "Nothing was started. Complete the command and send it.",
    ]


def test_a_long_command_has_no_button(client: CommandClient) -> None:
    words = " ".join(f"-e VARIABLE_{n}=value-{n}" for n in range(90))
    reply = asked(client, f"runai submit lane -i a/lane:1 {words}")
    assert reply.buttons == ()
    assert as_text(reply).splitlines()[-1] == (
        "Nothing was started yet. Send the command if it is what you mean."
    )


def test_a_long_name_is_shortened_with_a_notice(client: CommandClient) -> None:
    said = client.says(ALICE, TEAM_A, f"/train submit {LONG} --image a/b")
    assert said.splitlines()[:2] == [
        (
            f"`{LONG}` is longer than 30 characters, so the run is called"
            " `netapp-tensorflow-multi-1cfede`."
        ),
        (
            "Submitted run `netapp-tensorflow-multi-1cfede` with no GPU, 4 cores and 16Gi memory,"
            " for team-a."
        ),
    ]
    other = client.says(ALICE, TEAM_A, f"/train submit {LONG}-2 --image a/b")
    assert "Submitted run `netapp-tensorflow-multi-" in other
    assert "#2" not in other
    assert newest(client).number == 1


def test_a_long_name_finds_its_run(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, f"/train submit {LONG} --image a/b")
    said = client.says(ALICE, TEAM_A, f"/train stop {LONG}")
    assert said.startswith("Stopping `netapp-tensorflow-multi-1cfede`.")
    absent = client.says(ALICE, TEAM_A, f"/train stop {LONG}-2")
    assert absent.splitlines()[0] == f"team-a has no run {LONG}-2."
