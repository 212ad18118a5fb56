"""The bot and MLflow's API: logins, servers that are none, and what the doctor says."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic

import pytest

from bot.config import Mlflow, Settings
from bot.config.sections.gpu_sources import BasicLogin
from bot.errors import TrackingError
from bot.findings import Finding
from bot.training.mlflow.checking import checks
from bot.training.mlflow.client import Batch, MlflowClient, NewRun
from playground.loopback import free_port
from tests.bot.cluster.api.api_server import Reply, answer, serving
from tests.bot.training.mlflow.serving import Tracking
from tests.bot.training.rig import settings

TOKEN = "s3cr3t-t0ken"  # noqa: S105  # of the playground's server


def refused(settings: Mlflow) -> TrackingError:
    with pytest.raises(TrackingError) as caught:
        MlflowClient(settings).check()
    return caught.value


def found(tracking: Tracking, **more: object) -> list[Finding]:
    """What the doctor says of that server."""
    experiments = {"team-a": tracking.experiment, "team-b": f"{tracking.experiment} b"}
    mlflow = Mlflow(url=tracking.url, experiments=experiments)
    policy: Settings = settings()
    return list(checks(policy, mlflow.model_copy(update=more)))


def test_a_token_is_read_for_each_request(tracking: Tracking, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old", encoding="utf-8")
    tracking.app.token = TOKEN
    client = MlflowClient(Mlflow(url=tracking.url, token_file=str(file)))
    with pytest.raises(TrackingError) as caught:
        client.check()
    assert caught.value.message == "MLflow denied access: 401."
    assert caught.value.hint == "Check mlflow.token_file or mlflow.basic."
    file.write_text(f"{TOKEN}\n", encoding="utf-8")
    client.check()


def test_files_that_are_none_are_named(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    lost = str(tmp_path / "lost")
    error = refused(Mlflow(url=url, token_file=lost))
    assert (error.message, error.hint) == (
        "A file for MLflow cannot be read: No such file or directory.", "Check mlflow.token_file."
    )  # fmt: skip
    error = refused(Mlflow(url=url, basic=BasicLogin(username="bot", password_file=lost)))
    assert error.hint == "Check mlflow.basic.password_file."
    assert refused(Mlflow(url=url, ca_file=lost)).hint == "Check mlflow.ca_file."
    odd = tmp_path / "odd"
    odd.write_text("two words\n", encoding="utf-8")
    error = refused(Mlflow(url=url, token_file=str(odd)))
    assert "two words" not in error.message
    assert error.message.startswith("The token for MLflow must be one word")


def test_a_server_that_is_none_is_named() -> None:
    error = refused(Mlflow(url=f"http://127.0.0.1:{free_port()}"))
    assert error.message.startswith("MLflow does not respond: ")
    assert error.hint == "Check mlflow.url and whether the bot can reach it. Retrying."


def test_a_wrong_path_is_no_api(tracking: Tracking) -> None:
    error = refused(Mlflow(url=f"{tracking.url}/nowhere"))
    assert error.message == "MLflow returned 404, which is no answer of its API."


def test_a_run_is_found_by_its_row(tracking: Tracking) -> None:
    client = MlflowClient(Mlflow(url=tracking.url))
    client.create_experiment(tracking.experiment)
    client.create_experiment(tracking.experiment)
    experiment = client.experiment(tracking.experiment)
    assert experiment is not None
    assert client.find_run(experiment.id, "01a2") is None
    new = NewRun(experiment.id, "01a2", "lane", "Alice", 1_700_000_000_000)
    made = client.create_run(new)
    assert client.find_run(experiment.id, "01a2") == made
    assert client.find_run(experiment.id, "01a3") is None
    tracking.delete_run(made)
    assert client.find_run(experiment.id, "01a2") == made


def test_equal_metrics_are_kept_once(tracking: Tracking) -> None:
    client = MlflowClient(Mlflow(url=tracking.url))
    client.create_experiment(tracking.experiment)
    experiment = client.experiment(tracking.experiment)
    assert experiment is not None
    made = client.create_run(NewRun(experiment.id, "01a2", "lane", "Alice", 1_700_000_000_000))
    metrics = [
        {"key": "loss", "value": 0.5, "timestamp": 1_700_000_000_000, "step": step}
        for step in range(1000)
    ]
    batch = Batch(metrics=metrics)
    client.log(made, batch)
    client.log(made, batch)
    assert [step for step, _ in tracking.run("lane").history["loss"]] == list(range(1000))
    with pytest.raises(TrackingError) as caught:
        client.log(made, Batch(metrics=[*metrics, *metrics[:1]]))
    assert caught.value.code == "INVALID_PARAMETER_VALUE"


def test_parameters_are_never_changed(tracking: Tracking) -> None:
    client = MlflowClient(Mlflow(url=tracking.url))
    client.create_experiment(tracking.experiment)
    experiment = client.experiment(tracking.experiment)
    assert experiment is not None
    made = client.create_run(NewRun(experiment.id, "01a2", "lane", "Alice", 1_700_000_000_000))
    client.log(made, Batch(params={"lr": "0.1"}, tags={"note": "one"}))
    client.log(made, Batch(params={"lr": "0.1"}, tags={"note": "two"}))
    with pytest.raises(TrackingError) as caught:
        client.log(made, Batch(params={"lr": "0.2"}))
    assert caught.value.code == "INVALID_PARAMETER_VALUE"
    assert tracking.run("lane").params == {"lr": "0.1"}
    assert tracking.run("lane").tags["note"] == "two"


def test_the_doctor_names_deleted_experiments(tracking: Tracking) -> None:
    (first,) = found(tracking)
    later = f"{tracking.experiment}, {tracking.experiment} b"
    assert first == Finding(
        "mlflow", "ok", f"{tracking.url} answers; experiments: 2; the bot will create {later}"
    )
    MlflowClient(Mlflow(url=tracking.url)).create_experiment(tracking.experiment)
    tracking.delete_experiment()
    assert found(tracking) == [
        Finding(
            "mlflow",
            "failed",
            f"the experiment {tracking.experiment} is deleted",
            "Restore it in MLflow, or name another one in mlflow.experiments.",
        )
    ]
    (other,) = found(tracking, teams=("team-b",))
    assert other.state == "ok"


@contextmanager
def answering(*replies: Reply) -> Iterator[MlflowClient]:
    """A client of a server that answers a search of runs in these ways."""
    with serving() as server:
        server.on("POST", "/api/2.0/mlflow/runs/search", *replies)
        with closing(MlflowClient(Mlflow(url=server.url))) as client:
            yield client


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"runs": {"a": 1}}, "MLflow's answer has no run."),
        ({"runs": ["a"]}, "MLflow's answer has no run."),
        ({"runs": 5}, "MLflow's answer has no run."),
        ({"runs": [{"info": {"run_id": None}}]}, "MLflow's answer has no run_id."),
        ({"runs": [{"info": {"run_id": "../a"}}]}, "MLflow's answer has no run_id."),
        (b"[" * 100_000, "MLflow returned 200, which is no answer of its API."),
        (b" " * 10_000_001, "MLflow's answer takes more than 10 MB."),
    ],
)
def test_odd_answers_are_told_in_words(body: object, message: str) -> None:
    with answering(answer(200, body)) as client, pytest.raises(TrackingError) as caught:
        client.find_run("1", "01a2")
    assert caught.value.message == message


def test_an_answer_after_a_huge_one_is_read() -> None:
    huge, none = answer(200, b" " * 20_000_000), answer(200, {})
    with answering(huge, none) as client:
        with pytest.raises(TrackingError):
            client.find_run("1", "01a2")
        assert client.find_run("1", "01a2") is None


@pytest.mark.slow
def test_an_answer_that_trickles_is_given_up() -> None:
    """Its bytes come often enough for the library, and take longer than a step may."""
    with answering(lambda _, wire: wire.trickle(120)) as client:
        began = monotonic()
        with pytest.raises(TrackingError) as caught:
            client.find_run("1", "01a2")
        assert monotonic() - began < 30
    assert caught.value.message == "MLflow's answer takes more than 10 s."
