"""Reads quartermaster.yaml at startup, and again whenever its content changes."""

from hashlib import sha256
from pathlib import Path

from pydantic import ValidationError

from bot.config.checks import misfits, pasted_secrets
from bot.config.document import parse
from bot.config.environment import overridden
from bot.config.mistakes import of_validation, refusal
from bot.config.models import Settings
from bot.errors import ConfigurationError

_AT_START = ("workspace", "playground", "database", "slack", "http", "clock", "clusters")


class ConfigurationFile:
    """The configuration file; changes are detected by content, so swapped symlinks count."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = b""

    def load(self) -> Settings:
        """The settings from file and environment; ConfigurationError names every wrong line."""
        return self._read(self._content())

    def reload(self) -> Settings | None:
        """The new settings, or None if the file has not changed since it was last read.

        An invalid file raises ConfigurationError once; the caller keeps its settings.
        """
        seen = self._seen
        content = self._content()
        return None if self._seen == seen else self._read(content)

    def _content(self) -> str:
        try:
            raw = self._path.read_bytes()
            self._seen = sha256(raw).digest()
            return raw.decode()
        except UnicodeDecodeError:
            raise ConfigurationError(f"{self._path.name} is not UTF-8 text.") from None
        except OSError as error:
            raise ConfigurationError(
                f"{self._path} cannot be read: {error.strerror}.",
                "Start from quartermaster.example.yaml, and pass your file with --config.",
            ) from None

    def _read(self, content: str) -> Settings:
        document = parse(self._path.name, content)
        if secrets := list(pasted_secrets(document.data)):
            raise refusal(document, secrets)
        try:
            settings = Settings.model_validate(document.data)
        except ValidationError as error:
            raise refusal(document, of_validation(error)) from None
        if mistakes := list(misfits(settings)):
            raise refusal(document, mistakes)
        return overridden(settings)


def needs_restart(old: Settings, new: Settings) -> tuple[str, ...]:
    """The changed sections that take effect only after a restart."""
    return tuple(part for part in _AT_START if getattr(old, part) != getattr(new, part))
