"""The section mlflow in quartermaster.yaml: what is refused, with the line, and its defaults."""

from pathlib import Path

import pytest

from tests.bot.config.files import GOOD, load, refusal


@pytest.mark.parametrize(
    ("section", "says"),
    [
        ("{url: ftp://mlflow}", "the address of an MLflow server, like http://mlflow.mlflow:5000"),
        (
            "{url: 'https://bot:hunter2@mlflow.acme.io'}",
            "this address contains a password; put it into a file and set mlflow.basic,",
        ),
        (
            "{url: 'http://mlflow', token_file: /t, basic: {username: b, password_file: /p}}",
            "token_file and basic are different ways to authenticate; keep one of them.",
        ),
        ("{url: 'http://mlflow', teams: [team-x]}", "there is no team team-x;"),
        ("{url: 'http://mlflow', experiments: {team-x: X}}", "there is no team team-x;"),
        (
            "{url: 'http://mlflow', experiment: 'runs/{run}'}",
            "what stands in braces must be {team}, as in platform/{team}",
        ),
    ],
)
def test_a_wrong_section_is_refused_with_line(tmp_path: Path, section: str, says: str) -> None:
    message = refusal(tmp_path, f"{GOOD}mlflow: {section}\n")
    assert "line 9" in message
    assert says in message
    assert "hunter2" not in message


def test_experiments_are_named_by_team(tmp_path: Path) -> None:
    plain = load(tmp_path, f"{GOOD}mlflow: {{url: 'http://mlflow:5000'}}\n").mlflow
    assert plain is not None
    assert (plain.experiment_of("team-a"), plain.takes("team-a")) == ("team-a", True)
    given = "{url: 'http://m', experiment: 'gpu/{team}', experiments: {team-a: Lanes}}"
    named = load(tmp_path, f"{GOOD}mlflow: {given}\n").mlflow
    assert named is not None
    assert (named.experiment_of("team-a"), named.experiment_of("team-b")) == ("Lanes", "gpu/team-b")


def test_without_the_section_nothing_is_exported(tmp_path: Path) -> None:
    assert load(tmp_path, GOOD).mlflow is None
