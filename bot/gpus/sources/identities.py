"""The bot's identities at clouds with GPU metrics."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from bot.datasets.keys import read_keys
from bot.errors import MetricsError, OutsideError, StorageError

if TYPE_CHECKING:
    from botocore.credentials import Credentials
    from botocore.session import Session

_CONNECT_SECONDS, _READ_SECONDS = 3, 5


class Identities:
    """Cloud identities, looked up once on first use and cached by the libraries."""

    def __init__(self) -> None:
        self._entra: Callable[[str], str] | None = None
        self._amazon: Session | None = None

    def entra_token(self, scope: str) -> str:
        """A token for that scope; MetricsError if there is none."""
        # Importing it takes half a second: only who asks Azure pays.
        from bot.identities import entra_tokens  # noqa: PLC0415 - see above

        if self._entra is None:
            self._entra = entra_tokens(connect_seconds=_CONNECT_SECONDS, read_seconds=_READ_SECONDS)
        try:
            return self._entra(scope)
        except OutsideError as error:
            raise MetricsError(error.message, error.hint) from error

    def amazon(self) -> "Session":
        """The AWS session, which creates clients with the bot's AWS identity."""
        # Importing it takes a third of a second: only who asks AWS pays.
        import botocore.session  # noqa: PLC0415 - see above
        from botocore.config import Config  # noqa: PLC0415 - as above

        if self._amazon is None:
            self._amazon = botocore.session.Session()
            # For the clients that look up its identity.
            config = Config(
                connect_timeout=_CONNECT_SECONDS,
                read_timeout=_READ_SECONDS,
                retries={"mode": "standard", "total_max_attempts": 1},
            )
            self._amazon.set_default_client_config(config)
        return self._amazon

    def amazon_keys(self, folder: str | None, setting: str) -> "Credentials":
        """The keys in a folder, else those of the bot's own identity; MetricsError."""
        from botocore.credentials import Credentials  # noqa: PLC0415 - as above
        from botocore.exceptions import BotoCoreError  # noqa: PLC0415 - as above

        if folder is not None:
            found = amazon_keys(folder, setting)
            key, secret = found["aws_access_key_id"], found["aws_secret_access_key"]
            return Credentials(key, secret, found.get("aws_session_token"))
        hint = f"A platform admin can give its service account a role or set {setting}."
        try:
            own = self.amazon().get_credentials()
            keys = own.get_frozen_credentials() if own is not None else None
        except BotoCoreError as error:
            words = f"AWS did not return the bot's identity ({type(error).__name__})."
            raise MetricsError(words, hint) from error
        if keys is None or keys.access_key is None or keys.secret_key is None:
            words = "The bot has no AWS keys and no AWS identity of its own."
            raise MetricsError(words, hint)
        return Credentials(keys.access_key, keys.secret_key, keys.token)


def amazon_keys(folder: str | None, setting: str) -> dict[str, str]:
    """The keys in a folder as boto3 arguments; empty without a folder. MetricsError."""
    try:
        return read_keys(folder, "AWS", setting)
    except StorageError as error:
        raise MetricsError(error.message, error.hint) from error
