"""The settings of an S3-compatible store."""

from ipaddress import ip_address
from urllib.parse import quote, urlsplit

import msgspec

EXAMPLE = (
    '{"endpoint": "https://grid.example:8082", "region": "us-east-1", "path_style": true,'
    ' "ca_file": null, "credentials": "/etc/quartermaster/stores/lake"}'
)


class S3Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where an S3-compatible store is; endpoint None is AWS.

    People's computers reach it at `public_endpoint`, None for the same endpoint.
    `credentials` is a folder with the files access-key-id, secret-access-key and perhaps
    session-token; None stands for the pod's own identity.
    """

    endpoint: str | None = None
    region: str = "us-east-1"
    path_style: bool = False
    ca_file: str | None = None
    credentials: str | None = None
    public_endpoint: str | None = None


def base_url(where: S3Settings, bucket: str) -> str:
    """The URL that keys are appended to, without a slash at its end."""
    endpoint = (where.endpoint or _aws(where.region)).rstrip("/")
    # A certificate for *.host does not cover a bucket with dots. IP addresses have no subdomains.
    if where.path_style or "." in bucket or _is_ip(endpoint):
        return f"{endpoint}/{quote(bucket)}"
    scheme, _, host = endpoint.partition("://")
    return f"{scheme}://{bucket}.{host}"


def _is_ip(endpoint: str) -> bool:
    try:
        ip_address(urlsplit(endpoint).hostname or "")
    except ValueError:
        return False
    return True


def _aws(region: str) -> str:
    suffix = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    return f"https://s3.{region}.{suffix}"
