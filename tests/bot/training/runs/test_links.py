"""Buttons on cards that open other tools, where a run says enough of itself."""

import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.config import RunLink
from bot.slack.blocks import card_blocks
from bot.slack.card import Button
from bot.training.links import find_links, link_buttons, link_line
from bot.training.spec import spec_of
from bot.training.tables import Run
from playground.cluster.control.training import Line, Training
from tests.bot.training.objects import run
from tests.bot.training.rig import IMAGE, Rig

WANDB = RunLink(label="W&B", in_log="https://wandb.ai/*/*/runs/*")
MLFLOW = RunLink(label="MLflow", in_log="http://mlflow.example.com:5000/*")
GRAFANA = RunLink(
    label="Grafana",
    url="https://grafana.example.com/d/gpu?from={started}&to={ended}&var-ns={namespace}&var-pod={pods}",
)
MLFLOW_HOST = "http://mlflow.example.com:5000/"
ROOT = Path(__file__).parents[4]
COMMIT = RunLink(label="Commit", url="https://github.com/{repository}/commit/{commit}")
REQUESTS = RunLink(label="Pull request", url="https://github.com/{repository}/pulls?q={commit}")
BOARD = RunLink(label="TensorBoard", url="https://boards.example.com/{env.BOARD}/{run}")


def addresses(buttons: tuple[Button, ...]) -> dict[str, str]:
    return {each.label: each.url for each in buttons if each.url}


def made(run: Run, *links: RunLink) -> dict[str, str]:
    return addresses(link_buttons(run, spec_of(run), links))


def with_spec(**more: Any) -> Run:
    return run(spec={"image": IMAGE, "cpu": "16", "memory": "128Gi", "gpus": 2, **more})


def test_times_and_pods_are_filled_in() -> None:
    live = run(started_at=datetime.fromisoformat("2026-11-21T12:00:46.5Z"))
    begins = "https://grafana.example.com/d/gpu?from=1795262446500"
    ends = "var-ns=team-a&var-pod=lane-124a67dc90-.%2A"
    assert made(live, GRAFANA) == {"Grafana": f"{begins}&to=now&{ends}"}
    live.ended_at = datetime.fromisoformat("2026-11-21T12:05:46.5Z")
    assert made(live, GRAFANA) == {"Grafana": f"{begins}&to=1795262746500&{ends}"}


def test_what_a_run_lacks_gets_no_button() -> None:
    assert made(run(), GRAFANA, COMMIT, BOARD, WANDB) == {}


@pytest.mark.parametrize(
    "code",
    [
        "acme/lane@3f2a9c1",
        "github.com/acme/lane@3f2a9c1",
        "https://github.com/acme/lane.git@3f2a9c1",
    ],
)
def test_a_commit_leads_to_its_repository(code: str) -> None:
    assert made(with_spec(code=code), COMMIT, REQUESTS) == {
        "Commit": "https://github.com/acme/lane/commit/3f2a9c1",
        "Pull request": "https://github.com/acme/lane/pulls?q=3f2a9c1",
    }


def test_variables_are_filled_in_unless_secret() -> None:
    said = with_spec(env=[["BOARD", "alice/new look?"]])
    assert made(said, BOARD) == {
        "TensorBoard": "https://boards.example.com/alice%2Fnew%20look%3F/lane-124a67dc90"
    }
    link = RunLink(label="Key", url="https://boards.example.com/{env.API_KEY}")
    said = with_spec(env=[["API_KEY", "4f9a8b7c6d5e4f3a2b1c"]])
    assert made(said, link) == {}


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (
            [
                "wandb: View project at https://wandb.ai/acme/lane",
                "wandb: View run at https://wandb.ai/acme/lane/runs/x7q",
                "see https://wandb.ai/acme/lane/runs/x7q.",
            ],
            {"W&B": "https://wandb.ai/acme/lane/runs/x7q"},
        ),
        (
            ["View run sad-owl-12 at: http://mlflow.example.com:5000/#/experiments/1/runs/ab12"],
            {"MLflow": "http://mlflow.example.com:5000/#/experiments/1/runs/ab12"},
        ),
        (
            ["<https://wandb.ai/acme/lane/runs/x7q|here>"],
            {"W&B": "https://wandb.ai/acme/lane/runs/x7q"},
        ),
        (["https://wandb.ai.example.org/acme/lane/runs/x7q"], {}),
        (["https://wandb.ai/acme/lane/runs/x7q?key=ghp_0123456789abcdefghijABCDEFGHIJ012345"], {}),
        ([f"https://wandb.ai/acme/lane/runs/{'x' * 2_000}"], {}),
    ],
)
def test_addresses_are_found_in_the_log(lines: list[str], found: dict[str, str]) -> None:
    assert find_links(lines, (WANDB, MLFLOW, GRAFANA), {}) == found


# As printed by mlflow 3.17.2 at the end of a run, and by wandb 0.31.0 at its start and its end: to
# a pipe, and, with colours, to a terminal.
BY_MLFLOW = [
    "🏃 View run big-lamb-59 at: http://mlflow.example.com:5000/#/experiments/1/runs/33944f0df0d2",
    "🧪 View experiment at: http://mlflow.example.com:5000/#/experiments/1",
]
BY_WANDB = [
    "wandb: ⭐️ View project at https://wandb.ai/acme/lane",
    "wandb: 🚀 View run at https://wandb.ai/acme/lane/runs/x7q",
    "wandb: 🚀 View run sad-owl-12 at: https://wandb.ai/acme/lane/runs/x7q",
    "wandb: ⭐️ View project at: https://wandb.ai/acme/lane",
]
IN_COLOURS = [
    "\x1b[34m\x1b[1mwandb\x1b[0m: 🚀 View run at \x1b[34m\x1b[4mhttps://wandb.ai/acme/lane/runs/x7q\x1b[0m"
]


@pytest.mark.parametrize("lines", [BY_WANDB, IN_COLOURS])
def test_what_wandb_prints_leads_to_the_run(lines: list[str]) -> None:
    assert find_links(lines, (WANDB,), {}) == {"W&B": "https://wandb.ai/acme/lane/runs/x7q"}


def test_what_mlflow_prints_leads_to_the_run() -> None:
    """The address of its experiment, printed after it, has the same beginning."""
    form = documented("MLflow").replace("https://mlflow.example.com/", MLFLOW_HOST)
    link = RunLink(label="MLflow", in_log=form)
    address = "http://mlflow.example.com:5000/#/experiments/1/runs/33944f0df0d2"
    assert find_links(BY_MLFLOW, (link,), {}) == {"MLflow": address}


def documented(label: str) -> str:
    """The form that the documentation gives for a tool's addresses."""
    text = (ROOT / "docs" / "links.md").read_text()
    found = re.search(rf'label: {label}, in_log: "([^"]+)"', text)
    assert found is not None
    return found[1]


def test_no_line_is_searched_for_long() -> None:
    """Where each `*` could end at each slash, this would take days."""
    link = RunLink(label="Board", in_log="https://boards.example.com/*/*/*/*/*/runs/*")
    line = f"https://boards.example.com/{'a/' * 950}"
    lines = [f"{line} {'https://boards.example.com/' * 2_000}"] * 20
    assert find_links(lines, (link,), {}) == {}


@pytest.mark.parametrize(
    ("form", "address"),
    [
        ("https://boards.example.com/run/", "https://boards.example.com/run/"),
        ("https://boards.example.com/*/run", "https://boards.example.com/run/a/run"),
        ("https://boards.example.com/*", "https://boards.example.com/"),
    ],
)
def test_a_form_fits_from_end_to_end(form: str, address: str) -> None:
    link = RunLink(label="Board", in_log=form)
    assert find_links([f"see {address}, or {address}more"], (link,), {})["Board"] == (
        f"{address}more" if form.endswith("*") else address
    )


def test_a_restart_brings_a_new_address() -> None:
    before = {
        "W&B": "https://wandb.ai/acme/lane/runs/a",
        "MLflow": "http://mlflow.example.com:5000/1",
    }
    assert find_links(["https://wandb.ai/acme/lane/runs/b"], (WANDB,), before) == before | {
        "W&B": "https://wandb.ai/acme/lane/runs/b"
    }


def test_an_address_must_have_the_form_of_now() -> None:
    kept = run(links={"W&B": "https://wandb.ai/acme/lane/runs/a"})
    assert made(kept, WANDB) == {"W&B": "https://wandb.ai/acme/lane/runs/a"}
    moved = RunLink(label="W&B", in_log="https://wandb.example.com/*/*/runs/*")
    assert made(kept, moved) == {}


def test_a_line_of_links_escapes_all_of_it() -> None:
    odd = RunLink(label="a>b | <!here>", in_log="https://wandb.ai/*")
    kept = run(links={odd.label: "https://wandb.ai/?a=1&b=<@U0ALICE>|x"})
    assert link_line(kept, spec_of(kept), (odd,)) == (
        "Open in <https://wandb.ai/?a=1&amp;b=&lt;@U0ALICE&gt;%7Cx|a&gt;b | &lt;!here&gt;>",
    )
    assert link_line(kept, spec_of(kept), (COMMIT,)) == ()


def test_a_line_counts_links_without_room() -> None:
    labels = ("first", "second", "third")
    links = [RunLink(label=label, in_log="https://wandb.ai/*") for label in labels]
    kept = run(links={label: f"https://wandb.ai/{label:x<1100}" for label in labels})
    (line,) = link_line(kept, spec_of(kept), links)
    assert line.endswith("|second> · 1 more on its card")
    assert len(line) < 3_000
    kept.links = dict.fromkeys(labels, f"https://wandb.ai/{'&' * 1900}")
    assert link_line(kept, spec_of(kept), links) == ("3 more on its card",)


def test_cards_have_the_buttons_of_links(rig: Rig) -> None:
    def log(_training: Training, started: datetime, until: datetime) -> list[Line]:
        """The address once, as the program begins."""
        seconds = int((until - started).total_seconds())
        steps = [(started + timedelta(seconds=n), f"step {n}/900") for n in range(seconds)]
        return [(started, "wandb: View run at https://wandb.ai/acme/lane/runs/x7q"), *steps]

    links = (WANDB, COMMIT)
    rig.policy = rig.policy.model_copy(
        update={"training": rig.policy.training.model_copy(update={"links": links})}
    )
    rig.world.behaviours[IMAGE] = Training(never_ends=True, log=log)
    run_id = rig.submit(code="acme/lane@3f2a9c1")
    assert addresses(rig.card_of(run_id).buttons) == {
        "Commit": "https://github.com/acme/lane/commit/3f2a9c1"
    }
    rig.pass_time(minutes=2)
    card = rig.card_of(run_id)
    assert addresses(card.buttons) == {
        "W&B": "https://wandb.ai/acme/lane/runs/x7q",
        "Commit": "https://github.com/acme/lane/commit/3f2a9c1",
    }
    assert [each.label for each in card.buttons] == ["Logs", "Stop", "W&B", "Commit"]
    [actions] = [each for each in card_blocks(card, key="m") if each["type"] == "actions"]
    assert actions["elements"][2:] == [
        {
            "type": "button",
            "text": {"type": "plain_text", "text": "W&B", "emoji": True},
            "action_id": "train.link",
            "url": "https://wandb.ai/acme/lane/runs/x7q",
        },
        {
            "type": "button",
            "text": {"type": "plain_text", "text": "Commit", "emoji": True},
            "action_id": "train.link:2",
            "url": "https://github.com/acme/lane/commit/3f2a9c1",
        },
    ]


def test_an_exported_run_opens_in_mlflow() -> None:
    url = "https://mlflow.example.com/#/experiments/1/runs/5ad7"
    exported = run(mlflow_url=url)
    (button,) = link_buttons(exported, spec_of(exported), ())
    assert (button.label, button.url) == ("MLflow", url)
    own = RunLink(label="MLflow", in_log="https://mlflow.example.com/*")
    assert link_buttons(exported, spec_of(exported), (own,)) == ()
