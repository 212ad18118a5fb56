"""Access tokens of Google's OAuth: by a key in the store's Secret, or the pod's own identity."""

import json
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Protocol

import google.auth
import urllib3
from google.auth import exceptions, identity_pool
from google.auth.transport.urllib3 import Request
from google.oauth2 import service_account

from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.stores.gcs.settings import GcsSettings
from bot.datasets.worker.stores.settings import NoIdentityError, content

_SCOPES = ["https://www.googleapis.com/auth/devstorage.read_write"]
_TIME_OUT = urllib3.Timeout(connect=5, read=20)
# Mounted Secrets change without a restart, so they are read again this often.
_KEY_LASTS = timedelta(minutes=10)
_MOUNT = "Mount the store's Secret there, with the file key.json."
_KEY = "Put the key of a service account (JSON) into key.json of the store's Secret."
_CLOCK = "The clock of this node is too far off."
_WORDS_SHOWN = 200


class _Login(Protocol):
    """What google-auth's credentials have in common."""

    token: str | None
    expiry: datetime | None

    @property
    def valid(self) -> bool: ...

    def refresh(self, request: Request) -> None: ...


class Credentials:
    """The current access token of a store; thread-safe."""

    def __init__(self, where: GcsSettings) -> None:
        self._where: Final = where
        self._request: Final = Request(  # type: ignore[no-untyped-call]
            urllib3.PoolManager(timeout=_TIME_OUT, retries=False)
        )
        self._lock: Final = threading.Lock()
        self._login: _Login | None = None
        self._read_at = datetime.min.replace(tzinfo=UTC)

    def token(self) -> tuple[str, datetime]:
        """The token and when to ask again; WorkError (no_access) if there is none."""
        with self._lock:
            now = datetime.now(UTC)
            if self._login is None or now - self._read_at > _KEY_LASTS:
                self._login, self._read_at = _login(self._where), now
            if not self._login.valid:
                _refreshed(self._login, self._request)
            return str(self._login.token), self._read_at + _KEY_LASTS

    def headers(self) -> Mapping[str, str]:
        """The header that authenticates a request; empty for an emulator without credentials."""
        return {} if self._where.is_open else {"Authorization": f"Bearer {self.token()[0]}"}


def key_of(where: GcsSettings) -> str:
    """The JSON of the store's key file."""
    if where.credentials is None:
        raise NoIdentityError("no_access", "The store's settings name no key.", _KEY)
    return content(Path(where.credentials) / "key.json", "The key", _MOUNT)


def _login(where: GcsSettings) -> _Login:
    if where.credentials is None:
        return _own_identity()
    try:
        key = json.loads(key_of(where))
        return _KINDS[key["type"]](key)
    except (ValueError, KeyError, TypeError, exceptions.GoogleAuthError) as error:
        words = f"{where.credentials}/key.json is not a key that can be used."
        raise WorkError("no_access", words, _KEY) from error


def _of_service_account(key: Mapping[str, Any]) -> _Login:
    found: _Login = service_account.Credentials.from_service_account_info(  # type: ignore[no-untyped-call]
        key, scopes=_SCOPES
    )
    return found


def _of_federation(key: Mapping[str, Any]) -> _Login:
    found: _Login = identity_pool.Credentials.from_info(key, scopes=_SCOPES)  # type: ignore[no-untyped-call]
    return found


_KINDS: Mapping[str, Callable[[Mapping[str, Any]], _Login]] = {
    "service_account": _of_service_account,
    "external_account": _of_federation,
}


def _own_identity() -> _Login:
    try:
        found: _Login = google.auth.default(scopes=_SCOPES)[0]
    except exceptions.DefaultCredentialsError as error:
        raise NoIdentityError(
            "no_access",
            "The pod has no identity of its own for Google Cloud Storage.",
            "Name a Secret with key.json in the store's settings, or give the service account of"
            " the pods a workload identity.",
        ) from error
    return found


def _refreshed(login: _Login, request: Request) -> None:
    try:
        login.refresh(request)
    except exceptions.TransportError as error:
        raise _unanswered(error) from error
    except exceptions.GoogleAuthError as error:
        if getattr(error, "retryable", False):
            raise _unanswered(error) from error
        words = _words(error)
        hint = _CLOCK if "reasonable timeframe" in words else _KEY
        raise WorkError(
            "no_access", f"Google rejected the service account: {words}", hint
        ) from error


def _unanswered(error: Exception) -> WorkError:
    return WorkError(
        "store_down",
        f"Google gives no access token at the moment: {_words(error)}",
        "Nothing is lost: the next attempt continues where this one stopped.",
    )


def _words(error: Exception) -> str:
    *_, said = error.args or (type(error).__name__,)
    # The answer of the token server, if there is one, is the last.
    if isinstance(said, Mapping):
        said = said.get("error_description") or said.get("error")
    return str(said).partition("\n")[0][:_WORDS_SHOWN]
