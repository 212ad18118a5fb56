"""Reads and writes objects of an S3-compatible store by obstore."""

from typing import TYPE_CHECKING

from obstore.store import S3Store

from bot.datasets.manifest import Entry
from bot.datasets.worker.stores.obstore_engine import RETRIES, client_options
from bot.datasets.worker.stores.s3.keys import keys
from bot.datasets.worker.stores.s3.settings import S3Settings, base_url

if TYPE_CHECKING:
    from obstore import GetOptions
    from obstore.store import S3Credential


def s3_store(where: S3Settings, bucket: str, *, to_write: bool = False) -> S3Store:
    """The client of a bucket; WorkError (no_access) without credentials."""
    # This fails before anything is copied if there are no credentials.
    keys(where)
    url = base_url(where, bucket)
    return S3Store(
        bucket,
        endpoint=url.rpartition("/")[0] if where.path_style else url,
        region=where.region,
        virtual_hosted_style_request=not where.path_style,
        # The store checks it on arrival, and keeps it even if its ETags are not MD5s.
        config={"checksum_algorithm": "SHA256"} if to_write else None,
        client_options=client_options(where, to_write=to_write),
        retry_config=RETRIES,
        credential_provider=lambda: _credential(where),
    )


def options_of(entry: Entry) -> "GetOptions":
    """The options that read the listed object, and no later one."""
    options: GetOptions = {"if_match": f'"{entry.etag}"'} if entry.etag else {}
    if entry.version_id is not None:
        options["version"] = entry.version_id
    return options


def _credential(where: S3Settings) -> "S3Credential":
    found = keys(where)
    credential: S3Credential = {
        "access_key_id": found.access_key,
        "secret_access_key": found.secret_key,
        "expires_at": found.expires_at,
    }
    if found.token:
        credential["token"] = found.token
    return credential
