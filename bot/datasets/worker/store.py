"""An object store as given on the command line, without secrets, and its credentials."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import msgspec
from typing_extensions import override

from bot.datasets.worker.failures import WorkError, wrong_input

_EXAMPLE = (
    '{"endpoint": "https://grid.example:8082", "region": "us-east-1", "path_style": true,'
    ' "ca_file": null, "credentials": "/etc/quartermaster/stores/lake"}'
)
# Mounted Secrets change without a restart, so they are read again this often.
_KEYS_LAST = timedelta(minutes=10)


class Store(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a store is; endpoint None is AWS.

    `credentials` is a folder with the files access-key-id, secret-access-key and perhaps
    session-token; None stands for the pod's own identity.
    """

    endpoint: str | None = None
    region: str = "us-east-1"
    path_style: bool = False
    ca_file: str | None = None
    credentials: str | None = None


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


@dataclass(frozen=True)
class Address:
    """A bucket and a prefix that is empty or ends with /."""

    bucket: str
    prefix: str

    @override
    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}"


_STORE = msgspec.json.Decoder(Store)


def store(text: str, option: str) -> Store:
    """The store that the JSON describes; WorkError names the option and shows an example."""
    try:
        found = _STORE.decode(text)
    except msgspec.DecodeError as error:
        raise wrong_input(
            f"{option} cannot be read: {error}.", f"For example: {_EXAMPLE}"
        ) from None
    if found.endpoint and not found.endpoint.startswith(("http://", "https://")):
        raise wrong_input(
            f"{option} has an endpoint without http:// or https://: {found.endpoint}",
            f"For example: {_EXAMPLE}",
        )
    return found


def address(text: str, option: str) -> Address:
    """The bucket and prefix of s3://bucket/prefix/."""
    scheme, _, rest = text.partition("://")
    bucket, _, prefix = rest.partition("/")
    if scheme != "s3" or not bucket:
        raise wrong_input(
            f"{option} is not an address in an object store: {text}",
            "For example: s3://lake/chest-xray/",
        )
    return Address(bucket, prefix if not prefix or prefix.endswith("/") else f"{prefix}/")


def base_url(where: Store, bucket: str) -> str:
    """The URL that keys are appended to, without a slash at its end."""
    endpoint = (where.endpoint or _aws(where.region)).rstrip("/")
    # A certificate for *.host does not cover a bucket with dots.
    if where.path_style or "." in bucket:
        return f"{endpoint}/{quote(bucket)}"
    scheme, _, host = endpoint.partition("://")
    return f"{scheme}://{bucket}.{host}"


def _aws(region: str) -> str:
    suffix = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    return f"https://s3.{region}.{suffix}"


def authority(where: Store) -> str | None:
    """The certificates of the store's own CA; None for those of the system."""
    if where.ca_file is None:
        return None
    return _content(Path(where.ca_file), "The CA file")


def keys(where: Store) -> Keys:
    """The current credentials; WorkError (no_access) if there are none."""
    if where.credentials is None:
        return _own_identity()
    folder = Path(where.credentials)
    token = folder / "session-token"
    return Keys(
        _content(folder / "access-key-id", "The access key"),
        _content(folder / "secret-access-key", "The secret key"),
        _content(token, "The session token") if token.exists() else None,
        datetime.now(UTC) + _KEYS_LAST,
    )


def _own_identity() -> Keys:
    import botocore.session  # noqa: PLC0415  # half a second that stores with keys do not need

    found = botocore.session.Session().get_credentials()
    frozen = found.get_frozen_credentials() if found else None
    if frozen is None or frozen.access_key is None or frozen.secret_key is None:
        raise WorkError(
            "no_access",
            "The pod has no identity of its own for the object store.",
            "Name a Secret with keys in the store's settings, or give the service account a role.",
        )
    until = datetime.now(UTC) + _KEYS_LAST
    return Keys(frozen.access_key, frozen.secret_key, frozen.token, until)


def _content(path: Path, what: str) -> str:
    try:
        content = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise WorkError(
            "no_access",
            f"{what} cannot be read from {path}: {getattr(error, 'strerror', None) or error}.",
            "Mount the store's Secret there, with the files access-key-id and secret-access-key.",
        ) from None
    if not content:
        raise WorkError("no_access", f"{path} is empty.", "Put the key into the store's Secret.")
    return content
