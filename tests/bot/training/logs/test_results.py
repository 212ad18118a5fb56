"""Figures and progress from log lines."""

import pytest

from bot.config import ResultPattern
from bot.slack.card import Progress
from bot.training.logs.results import Reading, find_progress, read_log

LOG = (
    "Loading dataset from /data",
    "epoch 1/3 step 360/400 loss 1.501 images/sec: 808.7",
    "epoch 1/3 finished, accuracy 0.535, checkpoint saved",
    "validation_loss=0.71",
    "",
    "Total images/sec: 812.4",
    "",
)


def test_usual_figures_are_found_by_themselves() -> None:
    assert read_log(LOG, (), Reading()) == Reading(
        results={
            "images/sec": "808.7",
            "loss": "1.501",
            "accuracy": "0.535",
            "val loss": "0.71",
            "total images/sec": "812.4",
        },
        progress=Progress(1, 3, "epochs"),
        last_line="Total images/sec: 812.4",
    )


def test_configured_patterns_find_further_figures() -> None:
    pattern = ResultPattern(name="tokens/s", pattern=r"throughput\s*:\s*(\S+)")
    reading = read_log(["throughput    : 123.4 tokens/s"], (pattern,), Reading())
    assert reading.results == {"tokens/s": "123.4"}


def test_tests_of_the_network_tell_their_bandwidth() -> None:
    said = ["NCCL INFO NET/Socket : Using [0]eth0:10.0.0.2<0>", "# Avg bus bandwidth    : 0.97"]
    reading = read_log(said, (), Reading())
    assert reading.results == {"average bus bandwidth": "0.97 GB/s", "network": "socket"}


def test_what_is_not_mentioned_stays() -> None:
    before = Reading({"loss": "0.5"}, Progress(2, 3, "epochs"), "the last line")
    assert read_log(["  "], (), before) == before


def test_steps_do_not_hide_known_epochs() -> None:
    reading = read_log(["epoch 2/3", "step 10/400"], (), Reading())
    assert reading.progress == Progress(1, 3, "epochs")


@pytest.mark.parametrize(
    ("line", "progress"),
    [
        ("epoch 2/3", Progress(1, 3, "epochs")),
        ("Epoch [2/3] loss: 0.4", Progress(2, 3, "epochs")),
        ("epoch 2/4 step 100/400", Progress(1.25, 4, "epochs")),
        ("step 120/400", Progress(120, 400, "steps")),
        ("Iteration 5 of 20", Progress(5, 20, "steps")),
        ("epoch 2/4:  25%|##    | 100/400 [00:01<00:03]", Progress(1.25, 4, "epochs")),
        ("Epoch 1:  25%|##    | 100/400 [00:01<00:03]", Progress(1.25, None, "epochs")),
        ("Epoch(train) [3][ 9/20]  lr: 1.0e-02", Progress(2.45, None, "epochs")),
        ("Epoch: [2][ 20/391]\tTime  0.1 ( 0.2)\tLoss 2.1", Progress(2.05, None, "epochs")),
        ("Epoch: [2]  [ 40/160]  eta: 0:01:02  loss: 0.4", Progress(2.25, None, "epochs")),
        ("  2/3  2.61G  1.345  640:  50%|##  | 5/10", Progress(1.5, 3, "epochs")),
        (" iteration       10/     500 | consumed samples:", Progress(10, 500, "steps")),
        ("Epoch 3: loss 0.5", None),
        (f"Epoch(train) [3][{'9' * 5000}/20]", None),
        (f"Epoch: [2][9/{'9' * 5000}]", None),
        ("Epoch: [2][40/20]", None),
        ("Downloading: 45%|##   | 9/20 [00:01<00:03]", None),
        ("progress: 45%", Progress(45, 100, "%")),
        ("99.5% complete", Progress(99, 100, "%")),
        ("accuracy 98.1%", None),
        ("GPU use 33%", None),
        ("step 500/400", None),
        ("epoch 0/0", None),
    ],
)
def test_progress_is_read_where_a_line_tells(line: str, progress: Progress | None) -> None:
    assert find_progress(line) == progress


@pytest.mark.parametrize(
    ("lines", "progress"),
    [
        ([" 45%|####      | 9/20"], Progress(45, 100, "%")),
        (["Training: 45%|####      | 9/20"], Progress(45, 100, "%")),
        ([" 33%|###   | 8/24", "100%|####| 8/8"], Progress(33, 100, "%")),
        (["100%|####| 20/20", " 45%|##  | 9/20"], None),
        (["Epoch 2/3", " 9/20 ━━━━━━━━ 0s 3ms/step - loss: 0.4"], Progress(1.45, 3, "epochs")),
        (["Epoch 2/3", "20/20 - 0s - loss: 0.4"], Progress(1.99, 3, "epochs")),
        (["Epoch 3/3", "20/20 - 0s - loss: 0.4"], Progress(3, 3, "epochs")),
        (["Epoch 2/3", "Epoch 9: 50%|## | 1/2"], Progress(1, 3, "epochs")),
    ],
)
def test_bars_of_parts_are_not_the_runs(lines: list[str], progress: Progress | None) -> None:
    assert read_log(lines, (), Reading()).progress == progress


@pytest.mark.parametrize(
    ("line", "results"),
    [
        ("{'loss': 0.345, 'grad_norm': 1.2, 'epoch': 1.0}", {"loss": "0.345"}),
        ("{'loss': '0.345', 'epoch': '1'}", {"loss": "0.345"}),
        ('{"train_loss": 1e-3, "eval_loss": 2E+2}', {"train loss": "1e-3", "eval loss": "2E+2"}),
        ("loss=.345", {"loss": ".345"}),
        ("images/sec: 1,234.5 loss: 12,345,678", {"images/sec": "1,234.5", "loss": "12,345,678"}),
        ("loss 3, accuracy 98.1%", {"loss": "3", "accuracy": "98.1%"}),
        ("loss: nan, val_loss: -inf", {"loss": "nan", "val loss": "-inf"}),
        ("lm loss: 1.020000E+01 | loss scale: 1.0", {"loss": "1.020000E+01"}),
        ("the loss nanometres away, loss 3d", {}),
        ("loss: 0.25.", {"loss": "0.25"}),
    ],
)
def test_figures_are_read_as_programs_write_them(line: str, results: dict[str, str]) -> None:
    assert read_log([line], (), Reading()).results == results
