"""/train submit --on, its form and presets, and /train templates."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import col, select

from bot.slack.text import as_text
from bot.training.requests.tables import RunRequest
from bot.training.tables import Run
from bot.training.templates.candidates import candidates_of
from tests.handlers.command_client import (
    ALICE,
    BOB,
    CAROL,
    ERIN,
    TEAM_A,
    TEAM_B,
    CommandClient,
    opened,
)
from tests.handlers.filled_forms import foreseen, sent, used
from tests.handlers.filled_forms import opened as form_of
from tests.handlers.test_train import work
from tests.playground.cluster.served import Served

TEMPLATES = """\
templates:
  dgx: {purpose: our own, gpu_type: h100, price_per_gpu_hour: 2, after: 10m}
  night: {leads_above: 5, price_per_gpu_hour: 1.5, teams: [team-a]}
presets:
  cheap: {image: "ghcr.io/acme/lane:3.1", gpus: 2, templates: "dgx,night", fallback_after: 1h}
  fixed: {image: "ghcr.io/acme/lane:3.1", templates: dgx, locked: [templates]}
"""
IMAGE = "ghcr.io/acme/lane:3.1"
SUBMIT = "/train submit wide --image ghcr.io/acme/lane:3.1 --gpus 2"


@pytest.fixture
def client(tmp_path: Path, database_url: str, served: Served) -> Iterator[CommandClient]:
    with opened(tmp_path, database_url, served, TEMPLATES) as opened_client:
        yield opened_client


def newest(client: CommandClient) -> Run:
    newest_first = select(Run).order_by(col(Run.id).desc())
    found = client.application.database.read(lambda session: session.exec(newest_first).first())
    assert found is not None
    return found


def test_templates_are_listed_with_prices(client: CommandClient) -> None:
    answer = client.says(ALICE, TEAM_A, "/train templates").splitlines()
    assert [" ".join(line.split()) for line in answer] == [
        "Compute templates of team-a",
        "`--on dgx,night` lets a run wait on them in this order.",
        "Template For Cluster Queue GPU type Price per GPU-hour GPUs free now Moves on after",
        "dgx our own default team-a h100 2.00 USD 12 10m",
        "night default team-a h100 1.50 USD 12 30m",
    ]


def test_other_teams_see_their_own_templates(client: CommandClient) -> None:
    answer = client.says(BOB, TEAM_B, "/train templates")
    assert "dgx" in answer
    assert "night" not in answer
    assert client.says(BOB, TEAM_B, f"{SUBMIT} --on night").splitlines() == [
        "team-b has no compute template night.",
        "It has: dgx.",
    ]


def test_the_answer_says_where_a_run_waits(client: CommandClient) -> None:
    answer = client.says(ALICE, TEAM_A, f"{SUBMIT} --on dgx,night --fallback-after 15m")
    assert answer.splitlines()[1:3] == [
        "1. It waits on dgx (queue team-a of cluster default) for 15m. It costs 4.00 USD an hour.",
        (
            "2. It waits on night (queue team-a of cluster default) until it is admitted."
            " It costs 3.00 USD an hour."
        ),
    ]
    places = [(each.template, each.queue) for each in candidates_of(newest(client))]
    assert places == [("dgx", "team-a"), ("night", "team-a")]


def test_costs_above_a_limit_need_approval(client: CommandClient) -> None:
    costly = SUBMIT.replace("--gpus 2", "--gpus 4") + " --on night"
    said = client.says(ALICE, TEAM_A, costly).splitlines()
    assert said[0] == (
        "On template night, this run costs 6.00 USD an hour; its limit is 5.00 USD an hour."
    )
    assert said[1].startswith("Requested an approval to submit `wide` for team-a. @U0CAROL or")
    listed = client.says(ALICE, TEAM_A, "/train list").splitlines()
    assert listed[0].startswith(
        "Waits for an approval of its cost: `wide`, 6.00 USD an hour on night, requested "
    )
    pending = client.says(CAROL, TEAM_A, "/approval list")
    assert "team-a: run wide, 6.00 USD an hour on night, requested by @U0ALICE" in pending
    said = client.says(ALICE, TEAM_A, costly.replace("4", "6")).splitlines()
    assert said[0] == "@U0ALICE already requested to submit wide; it waits for an approval."
    assert client.says(ERIN, TEAM_A, costly.replace("4", "8")).startswith("Submitted run `wide`")


SWEEP = f"/train submit tune --image {IMAGE} --gpus 1 --sweep lr=0.1,0.01"
TUNE = "-- python train.py --lr {lr}"


def test_a_receipt_says_where_a_sweep_waits(client: CommandClient) -> None:
    said = client.says(ALICE, TEAM_A, f"{SWEEP} --on dgx,night --time 2h {TUNE}")
    assert said.splitlines() == [
        "Submitted sweep `tune` for team-a.",
        "2 cells of 1 GPU each, 2 GPUs in total; at most 2 at once, 2 GPUs.",
        (
            "1. Each run waits on dgx (queue team-a of cluster default) for 10m. It costs 2.00 USD"
            " an hour."
        ),
        (
            "2. Each run waits on night (queue team-a of cluster default) until it is admitted."
            " It costs 1.50 USD an hour."
        ),
        (
            "On dgx, 2 x 2.00 = 4.00 USD an hour at most, and at most 8.00 USD for 2 cells"
            " within the time limit."
        ),
        (
            "On night, 2 x 1.50 = 3.00 USD an hour at most, and at most 6.00 USD for 2 cells"
            " within the time limit."
        ),
        "Its card in this channel follows it. `/train stop tune` stops it.",
    ]
    assert "  Templates  dgx for 10m, then night" in client.says(ALICE, TEAM_A, "/train show tune")
    found = client.says(ALICE, TEAM_A, "/train show tune-1")
    assert "  Template" in found


def test_a_costly_sweep_needs_one_approval(client: CommandClient) -> None:
    costly = SWEEP.replace("--gpus 1", "--gpus 3") + f" --on night {TUNE}"
    said = client.says(ALICE, TEAM_A, costly).splitlines()
    assert said[0] == (
        "On template night, this sweep costs 9.00 USD an hour (2 runs at once x 4.50); its limit is"
        " 5.00 USD an hour."
    )
    assert said[1].startswith("Requested an approval to submit `tune` for team-a. @U0CAROL or")
    pending = client.says(CAROL, TEAM_A, "/approval list")
    assert "team-a: sweep tune, 9.00 USD an hour on night, requested by @U0ALICE" in pending
    one = costly.replace("--on night", "--at-most 1 --on night")
    assert client.says(ALICE, TEAM_A, one).startswith("Submitted sweep `tune` for team-a.")
    other = costly.replace("tune", "other")
    assert client.says(ERIN, TEAM_A, other).startswith("Submitted sweep `other` for team-a.")


def test_the_form_prices_a_whole_sweep(client: CommandClient) -> None:
    form = form_of(client, f"{SWEEP} --on night {TUNE}".replace("submit tune", "submit"))
    fields = {each.name: each.initial for each in form.fields} | {"name": "tune", "gpus": "3"}
    reply = used(client, form, "form-change", fields=fields)
    assert reply.form is not None
    assert {
        "On night, 2 x 4.50 = 9.00 USD an hour at most.",
        (
            "On template night, this sweep costs 9.00 USD an hour (2 runs at once x 4.50); above"
            " 5.00 USD an hour, it waits for an approval."
        ),
    } <= set(foreseen(reply.form))


def test_a_run_again_takes_other_templates(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, f"{SUBMIT} --on dgx -- python train.py")
    stop = client.says(ALICE, TEAM_A, "/train stop wide")
    assert stop.startswith("Stopping `wide`")
    work(client)
    said = client.says(ALICE, TEAM_A, "/train resubmit wide --on night,dgx --fallback-after 5m")
    assert said.splitlines()[1:3] == [
        "1. It waits on night (queue team-a of cluster default) for 5m. It costs 3.00 USD an hour.",
        (
            "2. It waits on dgx (queue team-a of cluster default) until it is admitted."
            " It costs 4.00 USD an hour."
        ),
    ]
    assert [each.template for each in candidates_of(newest(client))] == ["night", "dgx"]


def test_a_run_again_refuses_unfit_options(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, f"{SUBMIT} --on dgx -- python train.py")
    said = client.says(ALICE, TEAM_A, "/train resubmit wide --from-snapshot --on night")
    assert said.splitlines() == [
        (
            "`--on` and `--from-snapshot` contradict each other: from a snapshot, a run starts"
            " where it was."
        ),
        "Leave one of them out.",
    ]
    said = client.says(ALICE, TEAM_A, "/train resubmit wide --fallback-after 5m")
    assert said.splitlines()[0] == (
        "`--fallback-after` says when a run moves on to its next template, and it names none."
    )
    said = client.says(ALICE, TEAM_A, "/train resubmit wide --on moon")
    assert said.splitlines()[0] == "team-a has no compute template moon."


def test_a_requester_withdraws_by_a_click(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT.replace("--gpus 2", "--gpus 4") + " --on night")
    (row,) = client.application.database.read(lambda s: s.exec(select(RunRequest)).all())
    clicked = client.clicks(ALICE, TEAM_A, "train.withdraw", row.id)
    assert clicked == "Withdrawn. Nothing was submitted."
    again = client.clicks(ALICE, TEAM_A, "train.withdraw", "none")
    assert again == "This request no longer exists.\nSubmit the run again."
    assert client.says(ALICE, TEAM_A, "/train list").startswith("Runs of team-a")


def test_the_form_says_that_it_needs_approval(client: CommandClient) -> None:
    form = form_of(client, "/train submit -- python train.py")
    changed = {"name": "wide", "image": IMAGE, "gpus": "4", "templates": "night"}
    reply = used(client, form, "form-change", fields=changed)
    assert reply.form is not None
    assert (
        "On template night, this run costs 6.00 USD an hour; above 5.00 USD an hour, it waits for"
        " an approval." in foreseen(reply.form)
    )


@pytest.mark.parametrize("wrong", ["dgx;night", "DGX", "dgx,", ","])
def test_a_wrong_list_is_refused_with_example(client: CommandClient, wrong: str) -> None:
    answer = client.says(ALICE, TEAM_A, f"{SUBMIT} --on '{wrong}'").splitlines()
    assert answer[0] == (
        "`--on` takes names of compute templates, separated by commas, as `/train templates` lists"
        f" them, not `{wrong}`."
    )
    assert answer[1].startswith("Write it like `--on dgx,burst`.")


def test_a_preset_names_the_templates(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, "/train submit wide --preset cheap")
    places = [(each.template, each.after_seconds) for each in candidates_of(newest(client))]
    assert places == [("dgx", 3600), ("night", 3600)]
    client.says(ALICE, TEAM_A, "/train submit other --preset cheap --on dgx,night")
    assert newest(client).name == "other"


def test_a_preset_can_lock_the_templates(client: CommandClient) -> None:
    answer = client.says(ALICE, TEAM_A, "/train submit wide --preset fixed --on night")
    assert answer.splitlines() == [
        "`--on` is locked by preset fixed: it is dgx.",
        "Leave it out, or submit without `--preset fixed`.",
    ]


def test_a_run_again_keeps_locked_templates(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, f"/train submit wide --preset fixed --image {IMAGE} --gpus 1")
    client.says(ALICE, TEAM_A, "/train stop wide")
    work(client)
    assert client.says(ALICE, TEAM_A, "/train resubmit wide --on night").splitlines() == [
        "`--on` is locked by preset fixed: it is dgx.",
        "Leave it out, or submit without `--preset fixed`.",
    ]
    assert client.says(ALICE, TEAM_A, "/train resubmit wide --on dgx").startswith("Submitted")


def test_without_templates_the_list_says_who_defines_them(
    tmp_path: Path, database_url: str, served: Served
) -> None:
    with opened(tmp_path, database_url, served, "") as plain:
        assert plain.says(ALICE, TEAM_A, "/train templates").splitlines() == [
            "Compute templates of team-a",
            "There are none. Platform admins define them in quartermaster.yaml.",
        ]


def test_the_form_has_a_field_for_templates(client: CommandClient) -> None:
    form = form_of(client, "/train submit -- python train.py")
    assert {"templates", "fallback_after"} <= {each.name for each in form.fields}
    changed = {"name": "wide", "image": IMAGE, "gpus": "2", "templates": "dgx,night"}
    reply = used(client, form, "form-change", fields=changed)
    assert reply.form is not None
    assert "1. It waits on dgx" in "\n".join(foreseen(reply.form))
    said = as_text(sent(client, form, changed | {"templates": "night", "gpus": "1"}))
    assert said.splitlines()[1] == (
        "It waits on night (queue team-a of cluster default) until it is admitted."
        " It costs 1.50 USD an hour."
    )
