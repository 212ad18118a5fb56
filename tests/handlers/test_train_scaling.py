"""/train scale as people use it."""

from tests.handlers.command_client import ALICE, BOB, TEAM_A, CommandClient
from tests.handlers.test_train import newest, work

SUBMIT = (
    "/train submit wide --kind elastic --nodes 1:3 --image ghcr.io/acme/lane:3.1 --gpus 1"
    " -- python train.py"
)


def test_a_run_is_scaled_and_told_how(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    assert client.says(ALICE, TEAM_A, "/train scale wide 2").splitlines() == [
        "Scaling `wide` to 2 nodes. Its card shows the progress."
    ]
    assert client.says(ALICE, TEAM_A, "/train scale wide 3").splitlines() == [
        "Scaling `wide` to 3 nodes. Its card shows the progress.",
        (
            "The additional nodes start together once its queue has quota for them; until then"
            " the run continues unchanged."
        ),
    ]
    assert client.says(ALICE, TEAM_A, "/train scale wide 4").splitlines() == [
        "wide may have 1 to 3 nodes: it was submitted with `--nodes 1:3`.",
        "`/train scale wide 3` is the furthest it can go.",
    ]


def test_only_numbers_are_taken_for_nodes(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    assert client.says(ALICE, TEAM_A, "/train scale wide many").splitlines()[0] == (
        "`N` takes a whole number from 1 to 512, not `many`."
    )


def test_a_click_stops_and_starts_anew(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    value = f"{newest(client).id} 1"
    assert client.clicks(ALICE, TEAM_A, "train.requeue", value) == (
        "Stopping `wide`. Once it has ended, it starts again on 1 node."
    )
    assert client.clicks(BOB, TEAM_A, "train.requeue", value).splitlines()[0] == (
        "You are not a member of team-a."
    )
    work(client)
    assert (newest(client).number, newest(client).spec["nodes"]) == (2, 1)
