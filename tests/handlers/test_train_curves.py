"""/train show and compare with --curves: the metrics of runs."""

import json
import math

from sqlmodel import Session, select

from bot.training.series.points import Point, Series, extended
from bot.training.series.tables import RunSeries
from bot.training.tables import Run
from tests.handlers.command_client import ALICE, BOB, TEAM_A, TEAM_B, CommandClient
from tests.handlers.test_train_records import BEGAN, ran


def measured(client: CommandClient, name: str, metric: str, values: list[float]) -> None:
    """Values of a metric, one a minute at each tenth step."""
    points = [
        Point(10.0 * number, None, BEGAN.timestamp() + 60 * number, value)
        for number, value in enumerate(values)
    ]

    def work(session: Session) -> None:
        run = session.exec(select(Run).where(Run.name == name)).one()
        row = RunSeries(run_id=run.id, name=metric, place=0)
        row.set_series(extended(Series(), points))
        session.add(row)

    client.application.database.transaction(work)


def test_curves_have_their_ends_as_table(client: CommandClient) -> None:
    ran(client, "one", 1, hours=1)
    ran(client, "two", 1, hours=1)
    measured(client, "one", "loss", [2.0, 1.0, 0.5, 0.75])
    measured(client, "two", "loss", [3.0, math.nan, 1.5])
    assert client.says(ALICE, TEAM_A, "/train show one --curves").splitlines()[:1] == [
        "loss of one"
    ]
    shown = client.says(ALICE, TEAM_A, "/train compare one two --curves loss")
    assert "loss of one and two" in shown
    assert "Shown from step 0 to 20, where all curves have values." in shown
    rows = [line.split("  ") for line in shown.splitlines() if "at step" in line]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert cells == [
        ["one", "loss", "0.75 at step 30", "0.5 at step 20", "2 at step 0", "4"],
        ["two", "loss", "1.5 at step 20", "1.5 at step 20", "3 at step 0", "3"],
    ]


def test_a_card_with_metrics_shows_its_curves(client: CommandClient) -> None:
    ran(client, "one", 1, hours=1)
    find = select(Run).where(Run.name == "one")
    run_id = client.application.database.read(lambda session: session.exec(find).one().id)
    assert "  [Logs] [Resubmit]" in client.says(ALICE, TEAM_A, "/train show one").splitlines()
    said = client.clicks(ALICE, TEAM_A, "train.curves", run_id)
    assert said.splitlines()[0] == "one has no metrics."
    measured(client, "one", "loss", [2.0, 1.0])
    shown = client.says(ALICE, TEAM_A, "/train show one").splitlines()
    assert "  [Logs] [Curves] [Resubmit]" in shown
    said = client.clicks(ALICE, TEAM_A, "train.curves", run_id)
    assert said == client.says(ALICE, TEAM_A, "/train show one --curves")
    said = client.clicks(BOB, TEAM_A, "train.curves", run_id)
    assert said.splitlines()[0] == "You are not a member of team-a."
    said = client.clicks(ALICE, TEAM_A, "train.curves", "none")
    assert said.splitlines()[0] == "This run no longer exists."


def test_what_cannot_be_drawn_is_refused(client: CommandClient) -> None:
    ran(client, "one", 1, hours=1)
    ran(client, "two", 1, hours=1)
    answer = client.says(ALICE, TEAM_A, "/train show one --curves")
    assert answer.splitlines()[0] == "one has no metrics."
    measured(client, "one", "loss", [2.0, 1.0])
    assert client.says(ALICE, TEAM_A, "/train show one --curves mIoU").splitlines() == [
        "one has no metric mIoU.",
        "It has: loss.",
    ]
    answer = client.says(ALICE, TEAM_A, "/train show one --curves loss --over epoch")
    assert answer.splitlines()[0] == "loss of one has no epochs."
    answer = client.says(ALICE, TEAM_A, "/train show one --over time")
    assert answer.splitlines()[0] == "`--over` is about curves."
    answer = client.says(ALICE, TEAM_A, "/train compare one two --by epoch --curves loss")
    assert answer.splitlines()[0] == "`--by epoch` compares times, and `--curves` draws metrics."
    answer = client.says(BOB, TEAM_B, "/train show one --curves")
    assert answer.splitlines()[0] == "team-b has no run one."


def test_an_export_has_whole_series(client: CommandClient) -> None:
    ran(client, "one", 1, hours=1)
    measured(client, "one", "loss", [2.0, math.inf])
    text = client.says(ALICE, TEAM_A, "/train export one").partition("\n")[2]
    loss = json.loads(text)["series"]["loss"]
    assert (loss["step"], loss["value"], loss["count"]) == ([0, 10], [2.0, "inf"], 2)
    assert loss["time"][1] == "2026-11-01T08:01:00.000Z"
