"""Runs exported to MLflow, on the playground's server and on a real one."""

from datetime import datetime, timedelta

import pytest

from bot.config import Mlflow
from bot.training.mlflow.service import ExportService
from bot.training.mlflow.tables import MlflowExport
from bot.training.series.service import series_of
from playground.cluster.control.training import Line, Training
from playground.ledger import Fault
from tests.bot.training.mlflow.serving import Kept, Tracking
from tests.bot.training.rig import Rig

COMMAND = ("python", "train.py", "--epochs", "3", "--lr", "0.1")


def export(rig: Rig, run_id: str) -> MlflowExport:
    """The row of an export."""
    return rig.do(lambda session: session.get_one(MlflowExport, run_id))


def kept_values(rig: Rig, run_id: str) -> dict[str, list[float]]:
    """The values of each metric of a run, in order."""
    rows = rig.do(lambda session: series_of(session, run_id))
    return {row.name: [point.value for point in row.series().curve()] for row in rows}


def values(run: Kept) -> dict[str, list[float]]:
    """The values that MLflow has, in the order of their steps."""
    return {key: [value for _, value in pairs] for key, pairs in run.history.items()}


def test_a_run_is_exported_while_it_runs(exporting: Rig, tracking: Tracking) -> None:
    run_id = exporting.submit(command=COMMAND)
    exporting.pass_time(minutes=2)
    half = tracking.run("lane")
    assert (half.status, half.end_time) == ("RUNNING", None)
    assert half.params == {"epochs": "3", "lr": "0.1"}
    assert half.tags["quartermaster.owner"] == "Alice"
    assert half.tags["quartermaster.team"] == "team-a"
    assert half.tags["quartermaster.run"] == run_id
    assert half.tags["quartermaster.image"] == "ghcr.io/acme/lane:3.1"
    assert half.tags["mlflow.user"] == "Alice"
    seen = len(half.history["loss"])
    assert seen > 2
    exporting.pass_time(minutes=10)
    whole = tracking.run("lane")
    run = exporting.get(run_id)
    assert run.ended_at is not None
    assert (whole.status, whole.end_time) == ("FINISHED", int(run.ended_at.timestamp() * 1000))
    assert whole.tags["quartermaster.status"] == "succeeded"
    assert len(whole.history["loss"]) > seen
    assert {key: sorted(each) for key, each in values(whole).items()} == {
        key: sorted(each) for key, each in kept_values(exporting, run_id).items()
    }
    assert export(exporting, run_id).phase == "ended"


def test_the_card_links_to_mlflow(exporting: Rig, tracking: Tracking) -> None:
    run_id = exporting.submit(command=COMMAND)
    assert "MLflow" not in exporting.card(run_id)
    exporting.pass_time(minutes=2)
    made = tracking.run("lane")
    url = f"{tracking.url}/#/experiments/{made.experiment_id}/runs/{made.id}"
    (button,) = (each for each in exporting.card_of(run_id).buttons if each.label == "MLflow")
    assert button.url == url
    assert exporting.get(run_id).mlflow_url == url


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
@pytest.mark.parametrize(
    "operation", ["experiments/create", "runs/create", "runs/log-batch", "runs/update"]
)
def test_a_repeated_request_writes_nothing_twice(
    exporting: Rig, tracking: Tracking, operation: str, fault: Fault
) -> None:
    tracking.ledger.by_name[f"mlflow {operation}"] = [fault]
    run_id = exporting.submit(command=COMMAND)
    exporting.pass_time(minutes=20)
    assert len(tracking.ledger.struck) == 1
    (only,) = tracking.runs()
    assert only.status == "FINISHED"
    found = {key: sorted(each) for key, each in values(only).items()}
    assert found == {key: sorted(each) for key, each in kept_values(exporting, run_id).items()}
    assert export(exporting, run_id).phase == "ended"


def test_a_restarted_bot_creates_no_second_run(exporting: Rig, tracking: Tracking) -> None:
    tracking.ledger.by_name["mlflow runs/create"] = [Fault.LOSE_ANSWER]
    exporting.submit(command=COMMAND)
    exporting.pass_time(seconds=20)
    exporting.restart()
    exporting.pass_time(minutes=20)
    assert tracking.effects().count("mlflow runs/create") == 1
    assert len(tracking.runs()) == 1


def test_a_server_that_is_away_is_awaited(exporting: Rig, tracking: Tracking) -> None:
    tracking.app.is_away = True
    run_id = exporting.submit(command=COMMAND)
    exporting.pass_time(minutes=20)
    assert exporting.get(run_id).phase == "succeeded"
    assert export(exporting, run_id).trouble == "MLflow returned 503."
    exports = ExportService(exporting.settings)
    run = exporting.get(run_id)
    words = exporting.do(lambda session: exports.trouble(session, run))
    assert words == "MLflow returned 503. Retrying."
    assert len(tracking.ledger.requests) < 20
    tracking.app.is_away = False
    exporting.pass_time(minutes=10)
    assert tracking.run("lane").status == "FINISHED"
    assert len(tracking.run("lane").history["loss"]) > 2
    assert (export(exporting, run_id).phase, export(exporting, run_id).trouble) == ("ended", "")


def test_a_run_deleted_in_mlflow_stays_deleted(exporting: Rig, tracking: Tracking) -> None:
    run_id = exporting.submit(command=COMMAND)
    exporting.pass_time(minutes=2)
    tracking.delete_run(tracking.run("lane").id)
    exporting.pass_time(minutes=20)
    assert tracking.runs() == []
    assert tracking.effects().count("mlflow runs/create") == 1
    row = export(exporting, run_id)
    assert row.phase == "refused"
    assert "must be in the 'active' state. Current state is deleted." in row.trouble


def test_a_deleted_experiment_is_awaited(exporting: Rig, tracking: Tracking) -> None:
    exporting.submit("first", command=COMMAND)
    exporting.pass_time(minutes=10)
    tracking.delete_experiment()
    run_id = exporting.submit("second", command=COMMAND)
    exporting.pass_time(minutes=10)
    assert export(exporting, run_id).trouble == (
        f"The experiment {tracking.experiment} is deleted in MLflow."
    )
    tracking.restore_experiment()
    exporting.pass_time(minutes=10)
    assert tracking.run("second").status == "FINISHED"


def test_stopped_and_failed_runs_say_so(exporting: Rig, tracking: Tracking) -> None:
    exporting.world.behaviours["broken"] = Training(fails_after=30, exit_code=3)
    stopped = exporting.submit("stopped", command=COMMAND)
    exporting.submit("broken", image="ghcr.io/acme/broken:1", command=COMMAND)
    exporting.pass_time(minutes=1)
    exporting.stop(stopped)
    exporting.pass_time(minutes=20)
    assert tracking.run("stopped").status == "KILLED"
    assert tracking.run("broken").status == "FAILED"
    assert tracking.run("broken").tags["quartermaster.reason"] != ""


def test_odd_names_and_values_are_taken(exporting: Rig, tracking: Tracking) -> None:
    """MLflow takes fewer names than a report may have, and no NaN as a JSON number."""
    names = ("top-5@1", "top-5%1", "val/acc", "a//b", "x [y]", "../up", "loss/", "grad (norm)")

    def says(_: Training, began: datetime, until: datetime) -> list[Line]:
        lines = [
            f'quartermaster: {{"step": {step}, "loss": {value}, {pairs}}}'
            for step, value in enumerate(("1.5", '"nan"', '"inf"', '"-inf"'))
            for pairs in [", ".join(f'"{name}": {step}' for name in names)]
        ]
        at = began + timedelta(seconds=5)
        return [(at, line) for line in lines] if at <= until else []

    exporting.world.behaviours["--lr 0.1"] = Training(epochs=1, log=says)
    run_id = exporting.submit(command=COMMAND)
    exporting.pass_time(minutes=20)
    assert export(exporting, run_id).phase == "ended"
    run = tracking.run("lane")
    assert sorted(run.history) == sorted(
        ["loss", "top-5_1", "top-5_1_", "val/acc", "a/b", "x _y_", "_/up", "loss_", "grad _norm_"]
    )
    assert [step for step, _ in run.history["loss"]] == [0, 1, 2, 3]
    told = {str(value) for _, value in run.history["loss"]}
    assert "1.5" in told
    assert "NaN" in told


def test_only_chosen_teams_and_programs_are_exported(exporting: Rig, tracking: Tracking) -> None:
    exporting.submit("session", kind="interactive", command=())
    exporting.pass_time(minutes=2)
    mlflow = Mlflow(url=tracking.url, teams=("team-b",))
    exporting.policy = exporting.policy.model_copy(update={"mlflow": mlflow})
    exporting.submit("lane", command=COMMAND)
    exporting.pass_time(minutes=10)
    assert tracking.ledger.requests == []


def test_an_export_waits_for_its_settings(exporting: Rig, tracking: Tracking) -> None:
    policy = exporting.policy
    run_id = exporting.submit(command=COMMAND)
    exporting.pass_time(minutes=1)
    exporting.policy = policy.model_copy(update={"mlflow": None})
    exporting.pass_time(minutes=15)
    assert tracking.run("lane").status == "RUNNING"
    exporting.policy = policy
    exporting.pass_time(minutes=15)
    assert tracking.run("lane").status == "FINISHED"
    assert export(exporting, run_id).phase == "ended"


def test_a_run_that_never_starts_is_not_exported(exporting: Rig, tracking: Tracking) -> None:
    run_id = exporting.submit(gpus=16)
    exporting.pass_time(minutes=1)
    exporting.stop(run_id)
    exporting.pass_time(minutes=5)
    assert exporting.get(run_id).phase == "stopped"
    assert tracking.ledger.requests == []
