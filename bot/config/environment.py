"""Reads the environment: secrets, and the two settings that deployments override."""

from pathlib import Path
from typing import Literal

from pydantic import SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from bot.config.kinds import is_http, with_slash
from bot.config.models import Secrets, Settings
from bot.errors import ConfigurationError

_HINT = (
    "Set them in the environment, or set QUARTERMASTER_SECRETS_DIR to a folder that has them as"
    " files (slack_bot_token, slack_app_token, slack_signing_secret)."
)


class _Folder(BaseSettings):
    quartermaster_secrets_dir: Path | None = None


class _Person(BaseSettings):
    quartermaster_grant: SecretStr | None = None


class _Environment(BaseSettings):
    # A Secret that was made from a file usually ends with a newline, in a variable of a pod, too.
    model_config = SettingsConfigDict(env_ignore_empty=True, str_strip_whitespace=True)

    slack_bot_token: SecretStr | None = None
    slack_app_token: SecretStr | None = None
    slack_signing_secret: SecretStr | None = None
    slack_api_url: str | None = None
    quartermaster_database_url: SecretStr | None = None


def read_secrets(transport: Literal["socket", "http"]) -> Secrets:
    """The secrets for a transport; ConfigurationError names what is missing, never a value."""
    found = _environment()
    second = "slack_app_token" if transport == "socket" else "slack_signing_secret"
    missing = [key.upper() for key in ("slack_bot_token", second) if not getattr(found, key)]
    if missing:
        raise ConfigurationError(f"Not set: {' and '.join(missing)}.", _HINT)
    _refuse("SLACK_BOT_TOKEN", found.slack_bot_token, "xapp-", "a bot token starts with xoxb-")
    _refuse("SLACK_APP_TOKEN", found.slack_app_token, "xox", "an app-level token starts with xapp-")
    return Secrets.model_validate(
        {
            "bot_token": found.slack_bot_token,
            "app_token": found.slack_app_token,
            "signing_secret": found.slack_signing_secret,
        }
    )


def upload_grant() -> str:
    """The grant of a person who pushes from a computer; empty if it is not in the environment."""
    found = _Person().quartermaster_grant
    return found.get_secret_value() if found is not None else ""


def overridden(settings: Settings) -> Settings:
    """The settings with the overrides of the environment."""
    found = _environment()
    changes: dict[str, object] = {}
    if found.quartermaster_database_url:
        url = found.quartermaster_database_url.get_secret_value()
        changes["database"] = settings.database.model_copy(update={"url": url})
    if found.slack_api_url:
        if not is_http(found.slack_api_url):
            raise ConfigurationError("SLACK_API_URL is not a URL like https://slack.com/api/.")
        api_url = with_slash(found.slack_api_url)
        changes["slack"] = settings.slack.model_copy(update={"api_url": api_url})
    return settings.model_copy(update=changes)


def _environment() -> _Environment:
    folder = _Folder().quartermaster_secrets_dir
    if folder and not folder.is_dir():
        raise ConfigurationError(f"QUARTERMASTER_SECRETS_DIR is {folder}, which is not a folder.")
    return _Environment(_secrets_dir=folder)


def _refuse(key: str, value: SecretStr | None, start: str, words: str) -> None:
    if value and value.get_secret_value().startswith(start):
        raise ConfigurationError(f"{key} holds the wrong kind of token: {words}.")
