"""Which values a line of a log has, and at which step and epoch."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.cluster.api.log_tail import lines_of
from bot.config import ResultPattern
from bot.training.series.reading import Measured, MetricReader

LOGS = Path(__file__).parents[1] / "logs"
REPORT = 'quartermaster: {"step": 100, "epoch": 0.5, "loss": 0.41}'


def read(*lines: str, patterns: tuple[ResultPattern, ...] = ()) -> list[Measured]:
    reader = MetricReader(patterns, None)
    return [each for line in lines for each in reader.read(line, 7.0)]


def said(*lines: str) -> list[tuple[Any, ...]]:
    """Name, step, epoch and value of what the lines have."""
    return [(m.name, m.point.step, m.point.epoch, m.point.value) for m in read(*lines)]


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "[rank0]: ",
        "[rank0]:",
        "[default0]:",
        "[trainer0]: ",
        "[1,0]<stdout>: ",
        "[1,0]<stdout>:",
        "[prterun-lane-launcher-1@1,0]<stdout>: ",
        "2026-11-27 10:00:00,123 INFO train.py:42 - ",
        "I1127 10:00:00.000000 140 train.py:42] ",
        "\t",
        "worker-0: ",
        "(RayTrainWorker pid=412, ip=10.0.0.7) ",
        "(main) step 3 ",
    ],
)
def test_prefixes_of_launchers_hide_no_report(prefix: str) -> None:
    (found,) = read(prefix + REPORT)
    assert found.is_reported
    assert (found.name, *found.point) == ("loss", 100.0, 0.5, 7.0, 0.41)


@pytest.mark.parametrize(
    "prefix",
    [
        "[rank1]: ",
        "[default3]:",
        "[1,7]<stdout>: ",
        "[1,7]<stderr>:",
        "[prterun-lane-launcher-1@1,12]<stdout>: ",
    ],
)
def test_only_the_first_rank_counts(prefix: str) -> None:
    assert read(prefix + REPORT) == []
    assert read(prefix + "step 3 loss 0.4") == []


def test_a_number_in_brackets_is_no_rank() -> None:
    assert said("[step100]: loss 0.4") == [("loss", 100.0, None, 0.4)]
    assert said("[17] loss 0.4") == [("loss", None, None, 0.4)]


@pytest.mark.parametrize(
    "line",
    [
        REPORT[:-1],
        REPORT[15:],
        'quartermaster: {"step": 100, "lo',
        "quartermaster:",
        "quartermaster: {",
        "quartermaster: []",
        "quartermaster: 3",
        'my-quartermaster: {"mIoU": 1}',
        'quartermaster: {"mIoU": true, "note": "0.5", "more": {"mIoU": 1}, "list": [1]}',
        'quartermaster: {"a,b": 1, "`x`": 2, "<!channel>": 3, "": 4, " ": 5}',
        f'quartermaster: {{"{"n" * 61}": 1}}',
        f'quartermaster: {{"mIoU": 1{"0" * 400}}}',
        "quartermaster: " + '{"a":' * 9000,
    ],
)
def test_torn_and_foreign_lines_report_nothing(line: str) -> None:
    assert [each for each in read(line) if each.is_reported] == []


def test_secrets_are_no_metrics() -> None:
    line = 'quartermaster: {"step": 1, "db_password": 83457239847, "tokens/sec": 812, "loss": 1}'
    assert [each[0] for each in said(line)] == ["tokens/sec", "loss"]


def test_infinite_values_are_values() -> None:
    line = 'quartermaster: {"step": NaN, "a": NaN, "b": -Infinity, "c": "inf", "d": "nan"}'
    values = {each.name: each.point for each in read(line)}
    assert math.isnan(values["a"].value)
    assert (values["b"].value, values["c"].value) == (-math.inf, math.inf)
    assert math.isnan(values["d"].value)
    assert values["a"].step is None


def test_a_report_ends_with_its_object() -> None:
    assert said(REPORT + " and what another process wrote") == [("loss", 100, 0.5, 0.41)]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("epoch 3/10 step 120/400 loss 0.41", [("loss", None, 2.3, 0.41)]),
        ("Epoch [3/10], Step [100/600], Loss: 0.5", [("loss", None, 2.17, 0.5)]),
        ("epoch 3/10 finished, accuracy 91.5%", [("accuracy", None, 3.0, 91.5)]),
        ("step 250: train loss 2.4, val loss 2.5",
         [("train loss", 250.0, None, 2.4), ("val loss", 250.0, None, 2.5)]),
        ("iter 100: loss 2.1, time 12.31ms", [("loss", 100.0, None, 2.1)]),
        ("step 20/100 loss 0.5", [("loss", 20.0, None, 0.5)]),
        ("{'loss': 0.41, 'learning_rate': 5e-05, 'epoch': 0.5}", [("loss", None, 0.5, 0.41)]),
        ("{'loss': '0.41', 'epoch': '0.5'}", [("loss", None, 0.5, 0.41)]),
        ("loss=0.3 global_step=4000", [("loss", 4000.0, None, 0.3)]),
        ("10 images/sec: 1,204.5 +/- 0.1", [("images/sec", None, None, 1204.5)]),
        ("time/step 0.21 loss: nan", [("loss", None, None, "nan")]),
        ("nothing to see", []),
    ],
)  # fmt: skip
def test_lines_of_programs_say_their_place(line: str, found: list[tuple[Any, ...]]) -> None:
    assert [(*rest, "nan" if math.isnan(v) else v) for *rest, v in said(line)] == found


def test_values_belong_to_the_epoch_announced_before() -> None:
    lines = ("Epoch 2/5", "batch 20/100 loss 0.4", "Epoch 2/5 done, loss 0.3", "val loss 0.5")
    assert said(*lines) == [
        ("loss", None, 1.2, 0.4),
        ("loss", None, 2.0, 0.3),
        ("val loss", None, 2.0, 0.5),
    ]


def test_patterns_of_the_settings_are_series() -> None:
    patterns = (ResultPattern(name="mAP", pattern=r"mAP@50 ([0-9.]+)"),)
    (found,) = read("mAP@50 0.71", patterns=patterns)
    assert (found.name, found.point.value) == ("mAP", 0.71)
    assert MetricReader(patterns, None).is_wanted("mAP@50 0.71")
    assert not MetricReader(patterns, None).is_wanted("hello")


@pytest.mark.parametrize("name", ["transformers", "mmengine", "nnunet", "detectron2", "keras"])
def test_logs_of_trainers_become_curves(name: str) -> None:
    with (LOGS / f"{name}.log").open(newline="", encoding="utf-8") as file:
        found = read(*lines_of(file.read()))
    assert len(found) > 2
    assert all(math.isfinite(each.point.value) for each in found)


NAMES = st.text(st.characters(codec="utf-8"), max_size=80)
VALUES = st.none() | st.booleans() | st.integers() | st.floats() | NAMES
ANY = st.dictionaries(NAMES, VALUES | st.lists(VALUES, max_size=2), max_size=5)


@given(ANY, st.integers(0, 200), NAMES)
def test_no_line_breaks_the_reader(report: dict[str, Any], end: int, prefix: str) -> None:
    line = f"{prefix}quartermaster: {json.dumps(report)}"
    for text in (line, line[:end], line[end:], f"epoch {prefix} loss {line}"):
        for each in read(text):
            assert 0 < len(each.name) <= 60
            assert "," not in each.name
            assert isinstance(each.point.value, float)


@given(
    st.dictionaries(st.sampled_from(["loss", "val/loss", "mIoU"]), st.floats(allow_nan=False)),
    st.integers(0, 10**9),
)
def test_what_is_printed_is_read_again(values: dict[str, float], step: int) -> None:
    line = "[rank0]: quartermaster: " + json.dumps({"step": step, **values})
    assert said(line) == [(name, float(step), None, value) for name, value in values.items()]
