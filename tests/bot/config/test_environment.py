"""Secrets and overrides from the environment."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.config import read_secrets
from bot.errors import ConfigurationError
from tests.bot.config.files import GOOD, load, refusal


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "slack: {api_url: xoxb-1234}",
            (
                "quartermaster.yaml line 9: this is a Slack token;"
                " set tokens in the environment or a secrets folder."
            ),
        ),
        (
            "database: {url: 'postgresql://bot:hunter2@db/q'}",
            (
                "quartermaster.yaml line 9: this URL contains a password;"
                " set it in QUARTERMASTER_DATABASE_URL instead."
            ),
        ),
    ],
)
def test_secrets_in_the_file_are_refused_unshown(tmp_path: Path, line: str, message: str) -> None:
    assert refusal(tmp_path, f"{GOOD}{line}\n") == message


def test_the_environment_wins_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUARTERMASTER_DATABASE_URL", "postgresql://bot:hunter2@db/q")
    monkeypatch.setenv("SLACK_API_URL", "http://127.0.0.1:9000/api")
    settings = load(tmp_path, GOOD)
    assert settings.database.url == "postgresql://bot:hunter2@db/q"
    assert settings.slack.api_url == "http://127.0.0.1:9000/api/"
    assert "hunter2" not in repr(settings)


def test_newlines_of_secrets_are_no_part_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pod has as a variable what `kubectl create secret --from-file` read from a file."""
    monkeypatch.setenv("QUARTERMASTER_DATABASE_URL", "postgresql://bot:hunter2@db/q\n")
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-environment\n")
    monkeypatch.setenv("SLACK_APP_TOKEN", "xapp-environment\r\n")
    assert load(tmp_path, GOOD).database.url == "postgresql://bot:hunter2@db/q"
    secrets = read_secrets("socket")
    assert secrets.bot_token == SecretStr("xoxb-environment")
    assert secrets.app_token == SecretStr("xapp-environment")


def test_secrets_come_from_the_environment_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slack_bot_token").write_text("xoxb-file\n", encoding="utf-8")
    (tmp_path / "slack_app_token").write_text("xapp-file\n", encoding="utf-8")
    monkeypatch.setenv("QUARTERMASTER_SECRETS_DIR", str(tmp_path))
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-environment")
    secrets = read_secrets("socket")
    assert secrets.bot_token.get_secret_value() == "xoxb-environment"
    assert secrets.app_token == SecretStr("xapp-file")
    assert secrets.signing_secret is None
    assert "xoxb-environment" not in repr(secrets)


@pytest.mark.parametrize(
    ("transport", "message"),
    [
        ("socket", "Not set: SLACK_BOT_TOKEN and SLACK_APP_TOKEN."),
        ("http", "Not set: SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET."),
    ],
)
def test_missing_secrets_are_named_by_variable(transport: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_secrets("socket" if transport == "socket" else "http")
    assert caught.value.message == message


def test_swapped_tokens_are_told_without_showing_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xapp-1")
    monkeypatch.setenv("SLACK_APP_TOKEN", "xoxb-1")
    with pytest.raises(ConfigurationError) as caught:
        read_secrets("socket")
    assert caught.value.message == (
        "SLACK_BOT_TOKEN holds the wrong kind of token: a bot token starts with xoxb-."
    )


def test_a_missing_secrets_folder_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUARTERMASTER_SECRETS_DIR", "/nowhere")
    with pytest.raises(ConfigurationError) as caught:
        read_secrets("socket")
    assert caught.value.message == "QUARTERMASTER_SECRETS_DIR is /nowhere, which is not a folder."
