"""The credentials of an S3-compatible store: a Secret's files, or the pod's own identity."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.datasets.worker.stores.s3.settings import S3Settings
from bot.datasets.worker.stores.settings import NoIdentityError, content

# Mounted Secrets change without a restart, so they are read again this often.
_KEYS_LAST = timedelta(minutes=10)
_MOUNT = "Mount the store's Secret there, with the files access-key-id and secret-access-key."


@dataclass(frozen=True)
class Keys:
    """Credentials that sign requests; `expires_at` is when to read them again."""

    access_key: str
    secret_key: str
    token: str | None
    expires_at: datetime

    @property
    def are_fresh(self) -> bool:
        """Whether they need not be read again yet."""
        return datetime.now(UTC) < self.expires_at


def keys(where: S3Settings) -> Keys:
    """The current credentials; WorkError (no_access) if there are none."""
    if where.credentials is None:
        return _own_identity()
    folder = Path(where.credentials)
    token = folder / "session-token"
    return Keys(
        content(folder / "access-key-id", "The access key", _MOUNT),
        content(folder / "secret-access-key", "The secret key", _MOUNT),
        content(token, "The session token", _MOUNT) if token.exists() else None,
        datetime.now(UTC) + _KEYS_LAST,
    )


def _own_identity() -> Keys:
    import botocore.session  # noqa: PLC0415  # half a second that stores with keys do not need

    found = botocore.session.Session().get_credentials()
    frozen = found.get_frozen_credentials() if found else None
    if frozen is None or frozen.access_key is None or frozen.secret_key is None:
        raise NoIdentityError(
            "no_access",
            "The pod has no identity of its own for the object store.",
            "Name a Secret with keys in the store's settings, or give the service account a role.",
        )
    until = datetime.now(UTC) + _KEYS_LAST
    return Keys(frozen.access_key, frozen.secret_key, frozen.token, until)
