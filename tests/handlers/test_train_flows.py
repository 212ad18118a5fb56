"""/train submit --after as people use it."""

from bot.slack.forms.form import Form
from tests.handlers.command_client import ALICE, BOB, TEAM_A, TEAM_B, CommandClient, question
from tests.handlers.filled_forms import foreseen, opened, used
from tests.handlers.test_train import newest, plainly, work

IMAGE = "--image ghcr.io/acme/lane:3.1"
PREP = f"/train submit prep {IMAGE} -- python prepare.py"
TRAIN = f"/train submit train {IMAGE} --after prep -- python train.py"


def test_a_receipt_says_what_comes_first(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, PREP)
    assert client.says(ALICE, TEAM_A, TRAIN).splitlines() == [
        "Submitted run `train` with no GPU, 4 cores and 16Gi memory, for team-a.",
        "It starts once prep has succeeded.",
        "Its card in this channel follows it. `/train stop train` stops it.",
    ]
    both = f"/train submit both {IMAGE} --after prep --after train:any -- python train.py"
    assert client.says(ALICE, TEAM_A, both).splitlines()[1] == (
        "It starts once prep has succeeded and train has ended."
    )
    work(client)
    assert "Waiting for prep, train" in client.says(ALICE, TEAM_A, "/train list")
    assert plainly(client.says(ALICE, TEAM_A, "/train why train"))[:2] == [
        "⏳ train · Waiting for runs",
        "Waiting since TIME.",
    ]


def test_unknown_runs_are_refused_with_examples(client: CommandClient) -> None:
    assert client.says(ALICE, TEAM_A, TRAIN).splitlines() == [
        "team-a has no run prep.",
        "Start one: `/train submit lane --image ghcr.io/acme/lane:3.1 -- python train.py`.",
    ]
    client.says(ALICE, TEAM_A, PREP)
    assert client.says(ALICE, TEAM_A, TRAIN.replace("after prep", "after perp")).splitlines() == [
        "team-a has no run perp.",
        "It has: prep.",
    ]
    answer = client.says(ALICE, TEAM_A, TRAIN.replace("after prep", "after prep:end"))
    assert answer.splitlines()[:1] == [
        (
            "`--after` takes the name of a run, which has to succeed, or `run:any` for any end,"
            " not `prep:end`."
        ),
    ]


def test_only_runs_of_the_own_team_count(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, PREP)
    assert client.says(BOB, TEAM_B, TRAIN).splitlines()[0] == "team-b has no run prep."
    assert client.says(BOB, TEAM_A, TRAIN).splitlines()[0] == "You are not a member of team-a."


def test_a_waiting_run_is_submitted_only_once(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, PREP)
    client.says(ALICE, TEAM_A, TRAIN, delivery="one")
    run = newest(client)
    client.says(ALICE, TEAM_A, TRAIN, delivery="one")
    assert newest(client).id == run.id
    assert question(client, TRAIN)
    assert run.phase == "waiting-for-runs"


def test_a_click_stops_a_waiting_run(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, PREP)
    client.says(ALICE, TEAM_A, TRAIN)
    run = newest(client)
    assert client.clicks(ALICE, TEAM_A, "train.stop", run.id).startswith("Stopping `train`.")
    work(client)
    assert newest(client).phase == "stopped"


def test_the_end_of_a_run_reaches_others(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, PREP)
    client.says(ALICE, TEAM_A, TRAIN)
    assert client.says(ALICE, TEAM_A, "/train stop prep").splitlines() == [
        "Stopping `prep`. Its last lines are kept. `/train resubmit prep` starts it again.",
        "Runs that wait for its success are stopped, too: train.",
    ]
    work(client)
    run = newest(client)
    assert (run.phase, run.reason) == ("stopped", "Run prep, which it waited for, was stopped.")
    assert client.says(
        ALICE, TEAM_A, TRAIN.replace("train --image", "more --image")
    ).splitlines() == [
        "prep was stopped, so a run that waits for its success would never start.",
        (
            "Start it again first: `/train resubmit prep`. Or wait for any end of it:"
            " `--after prep:any`."
        ),
    ]


def test_a_form_offers_runs_to_wait_for(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, PREP)
    form = opened(client, "/train submit")
    assert offered(client, form, "") == ["prep"]
    assert offered(client, form, "prep:any") == ["prep:any"]
    fields = {each.name: each.initial for each in form.fields}
    fields |= {"name": "train", "image": "ghcr.io/acme/lane:3.1", "after": "prep:any"}
    changed = used(client, form, "form-change", fields=fields).form
    assert changed is not None
    assert "It starts once prep has ended." in foreseen(changed)


def offered(client: CommandClient, form: Form, typed: str) -> list[str]:
    """What the field of the runs to wait for offers."""
    found = used(client, form, "options", field_name="after", value=typed).options
    return [each.value for each in found]
