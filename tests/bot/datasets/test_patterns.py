"""Patterns of paths: which paths they match, and that none takes long."""

import pytest

from bot.datasets.patterns import PathPattern

PATHS = ("labels.csv", "train/0.png", "train/cats/1.png", "train/cats/a.jpg", "train-old/0.png")


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [
        ("*.csv", {"labels.csv"}),
        ("*.png", set()),
        ("train/", {"train/0.png", "train/cats/1.png", "train/cats/a.jpg"}),
        ("train/**", {"train/0.png", "train/cats/1.png", "train/cats/a.jpg"}),
        ("train", set()),
        ("train/*", {"train/0.png"}),
        ("*/[0-9].png", {"train/0.png", "train-old/0.png"}),
        ("**/*.png", {"train/0.png", "train/cats/1.png", "train-old/0.png"}),
        ("train/**/?.jpg", {"train/cats/a.jpg"}),
        ("**/cats/**/1.png", {"train/cats/1.png"}),
        ("**", set(PATHS)),
        ("TRAIN/*", set()),
    ],
)
def test_patterns_match_whole_paths(pattern: str, meant: set[str]) -> None:
    assert {path for path in PATHS if PathPattern(pattern).matches(path)} == meant


def test_folder_is_not_a_file_of_its_name() -> None:
    assert not PathPattern("train/").matches("train")
    assert not PathPattern("train/**").matches("train")


def test_no_pattern_goes_back_and_forth() -> None:
    within, across = PathPattern("*a" * 100 + "b"), PathPattern("**/a/" * 80 + "b")
    assert not within.matches("a" * 1000)
    assert not across.matches("/".join("a" * 500))
