"""/train scale as people use it."""

from bot.slack.forms.form import Form
from tests.handlers.command_client import ALICE, BOB, TEAM_A, CommandClient
from tests.handlers.filled_forms import foreseen, opened, used
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


def test_a_form_says_what_scaling_does(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    form = opened(client, "/train scale wide")
    assert [each.name for each in form.fields] == ["run", "nodes"]
    assert scaled(client, form, "2") == [
        "`wide` has 3 nodes with 3 GPUs. It would have 2 nodes with 2 GPUs."
    ]
    assert scaled(client, form, "4")[0] == (
        "wide may have 1 to 3 nodes: it was submitted with `--nodes 1:3`."
    )
    assert newest(client).scale_to is None


def scaled(client: CommandClient, form: Form, nodes: str) -> list[str]:
    changed = used(client, form, "form-change", fields={"run": "wide", "nodes": nodes}).form
    assert changed is not None
    return foreseen(changed)
