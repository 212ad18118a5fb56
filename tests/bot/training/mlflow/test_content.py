"""What MLflow gets of a run: names, steps, batches, and nothing secret."""

from typing import Any

from bot.slack.grammar.container_parameters import EnvironmentVariable
from bot.training.mlflow.content import Description, description_of, new_metrics
from bot.training.series.points import Point, Series, extended
from bot.training.series.tables import RunSeries
from bot.training.spec import Data, RunSpec, SweepCell, to_row
from bot.training.tables import Run
from tests.bot.ground import START


def series(name: str, count: int, *, place: int = 0, is_reported: bool = False) -> RunSeries:
    """A series with so many values, one at each tenth step."""
    points = (Point(10.0 * each, None, each / 2, float(each)) for each in range(count))
    row = RunSeries(run_id="r", name=name, place=place, is_reported=is_reported)
    row.set_series(extended(Series(), points))
    return row


def described(
    command: tuple[str, ...] = (), links: dict[str, str] | None = None, **more: Any
) -> Description:
    spec = RunSpec(image="ghcr.io/acme/lane:3.1", cpu="1", memory="1Gi", command=command, **more)
    run = Run(
        id="r", workspace_id="T0QM", team="team-a", name="lane", number=2, person="U0ALICE",
        channel="C0TEAMA", cluster="default", namespace="team-a", queue="team-a",
        job_name="lane-1", spec=to_row(spec), asked_at=START, since=START,
        links=links or {},
    )  # fmt: skip
    return description_of(run, "Alice")


def test_each_value_is_written_once() -> None:
    first = new_metrics([series("loss", 3)], {})
    assert first is not None
    assert [(each["step"], each["value"]) for each in first.metrics] == [(0, 0), (10, 1), (20, 2)]
    assert first.written == {"loss": [0, 3]}
    assert new_metrics([series("loss", 3)], first.written) is None
    later = new_metrics([series("loss", 5)], first.written)
    assert later is not None
    assert [each["value"] for each in later.metrics] == [3.0, 4.0]


def test_a_request_has_at_most_1000_metrics() -> None:
    rows = [series(name, 500, place=place) for place, name in enumerate(("a", "b", "c"))]
    written: dict[str, list[int]] = {}
    sizes, seen = list[int](), set[tuple[str, int]]()
    while (found := new_metrics(rows, written)) is not None:
        sizes.append(len(found.metrics))
        new = {(each["key"], each["step"]) for each in found.metrics}
        assert not seen & new
        seen |= new
        written = found.written
    assert sizes == [1000, 500]
    assert len(seen) == 1500


def test_a_part_of_a_series_is_continued() -> None:
    rows = [series("a", 512), series("b", 512, place=1)]
    first = new_metrics(rows, {})
    assert first is not None
    assert first.written == {"a": [0, 512], "b": [0, 488]}
    rest = new_metrics(rows, first.written)
    assert rest is not None
    assert [each["value"] for each in rest.metrics] == [float(each) for each in range(488, 512)]


def test_long_series_go_on_with_every_second_value() -> None:
    first = new_metrics([series("loss", 500)], {})
    assert first is not None
    later = new_metrics([series("loss", 604)], first.written)
    assert later is not None
    assert [each["value"] for each in later.metrics] == [
        *(float(each) for each in range(500, 604, 2)), 603.0
    ]  # fmt: skip
    assert later.written == {"loss": [0, 604]}


def test_reported_values_replace_what_output_showed() -> None:
    found = new_metrics([series("loss", 2, is_reported=True)], {"loss": [0, 50]})
    assert found is not None
    assert [each["value"] for each in found.metrics] == [0.0, 1.0]
    assert found.written == {"loss": [1, 2]}


def test_steps_are_whole_numbers() -> None:
    epochs = RunSeries(run_id="r", name="acc", place=0)
    epochs.set_series(extended(Series(), [Point(None, 1.5, 0, 0.1), Point(None, 2.0, 1, 0.2)]))
    places = RunSeries(run_id="r", name="top", place=1)
    places.set_series(extended(Series(), [Point(None, None, each, 0.1) for each in (0, 1)]))
    huge = RunSeries(run_id="r", name="big", place=2)
    huge.set_series(extended(Series(), [Point(1e300, None, 0, 0.1), Point(-1e300, None, 0, 0.1)]))
    found = new_metrics([epochs, places, huge], {})
    assert found is not None
    assert [each["step"] for each in found.metrics] == [1, 2, 0, 1, 2**63 - 1, -(2**63 - 1)]


def test_arguments_and_swept_values_are_parameters() -> None:
    env = (
        EnvironmentVariable("SWEEP_LR", "0.1"),
        EnvironmentVariable("SWEEP_SEED", "7"),
        EnvironmentVariable("BATCH", "64"),
    )
    found = described(
        ("python", "train.py", "--lr", "0.2", "--api-key", "Xy7Kd93Qq1z8Lm2"),
        env=env, cell=SweepCell(sweep="s1", number=1),
    )  # fmt: skip
    assert found.params == {"lr": "0.2", "seed": "7"}
    assert found.tags["quartermaster.sweep"] == "s1"
    assert described(env=env).params == {}


def test_secrets_are_not_exported() -> None:
    secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"  # noqa: S105  # looks like one
    found = described(
        ("python", "train.py", "--token", secret, "--note", secret),
        env=(EnvironmentVariable("SWEEP_TOKEN", secret), EnvironmentVariable("KEY", secret)),
        cell=SweepCell(sweep="s1", number=1),
        code=f"https://{secret}@github.com/acme/lane@0a1b2c3d",
    )
    assert secret not in repr(found)


def test_tags_tell_data_code_and_artifacts() -> None:
    data = Data(reference="chest-xray@v3", path="/data", digest="sha256:12")
    found = described(data=(data,), code="https://github.com/acme/lane@0a1b2c3d")
    assert found.tags["quartermaster.dataset.chest-xray"] == "chest-xray@v3"
    assert found.tags["quartermaster.dataset_digest.chest-xray"] == "sha256:12"
    assert found.tags["mlflow.source.git.commit"] == "0a1b2c3d"
    assert found.tags["quartermaster.name"] == "lane#2"
    assert "quartermaster.reason" not in found.tags


def test_names_of_tags_are_allowed_in_mlflow() -> None:
    found = described(links={"W&B": "https://wandb.ai/1", "W+B": "https://wandb.ai/2"})
    assert found.tags["quartermaster.link.W_B"] == "https://wandb.ai/1"
    assert found.tags["quartermaster.link.W_B_"] == "https://wandb.ai/2"


def test_the_same_description_has_one_digest() -> None:
    assert described().digest == described().digest
    assert described().digest != described(code="a@b").digest
