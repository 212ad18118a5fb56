"""Logs of common trainers, as their programs write them: half of each, and all of it."""

from pathlib import Path

import pytest

from bot.cluster.api.log_tail import lines_of
from bot.slack.card import Progress
from bot.training.logs.results import Reading, read_log

LOGS = Path(__file__).parent
TOLD = {
    "detectron2": (None, None, {"loss": "1.900"}),
    "keras": (
        (1.03, 3, "epochs"),
        (2, 2, "epochs"),
        {
            "loss": "0.7044",
            "val loss": "0.6998",
            "accuracy": "0.4805",
            "val accuracy": "0.4688",
        },
    ),
    "lightgbm": (None, None, {"logloss": "0.38552"}),
    "megatron-lm": ((60, 500, "steps"), (120, 500, "steps"), {"loss": "9.600000E+00"}),
    "mmengine": (None, (3, None, "epochs"), {"loss": "0.8740"}),
    "nnunet": (None, None, {"train loss": "-0.6132", "val loss": "-0.5921"}),
    "pytorch-lightning": (
        (1, None, "epochs"),
        (3, 3, "epochs"),
        {"train loss": "0.700", "val loss": "0.800"},
    ),
    "scikit-learn": (None, None, {"loss": "0.66564871"}),
    "tqdm": ((1.44, 3, "epochs"), (3, 3, "epochs"), {"loss": "0.5006"}),
    "transformers": (
        (33, 100, "%"),
        (100, 100, "%"),
        {
            "loss": "0.692",
            "eval loss": "0.6919348239898682",
            "eval accuracy": "0.6875",
            "samples/sec": "307.504",
            "train loss": "0.692321240901947",
        },
    ),
    "transformers-5": (
        None,
        None,
        {"loss": "nan", "eval loss": "0.3127", "eval accuracy": ".9"},
    ),
    "ultralytics": ((1.01, 3, "epochs"), (3, 3, "epochs"), {}),
    "xgboost": (None, None, {"logloss": "0.33126"}),
}


@pytest.mark.parametrize("name", TOLD)
def test_a_trainer_tells_progress_and_figures(name: str) -> None:
    with (LOGS / f"{name}.log").open(newline="", encoding="utf-8") as file:
        text = file.read()
    midway, end, results = TOLD[name]
    half = read_log(lines_of(text[: len(text) // 2]), (), Reading())
    assert half.progress == (Progress(*midway) if midway else None)
    # What was read before is read again with every look.
    whole = read_log(lines_of(text), (), half)
    assert (whole.progress, whole.results) == (Progress(*end) if end else None, results)


def test_every_log_is_told_and_explained() -> None:
    names = {path.stem for path in LOGS.glob("*.log")}
    assert names == set(TOLD)
    readme = (LOGS / "README.md").read_text("utf-8")
    assert [name for name in names if f"| {name}.log |" not in readme] == []
