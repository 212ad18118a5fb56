"""The settings of Google Cloud Storage."""

from typing import Final

import msgspec

EXAMPLE: Final = '{"type": "gcs", "credentials": "/etc/quartermaster/stores/lake"}'
_GOOGLE = "https://storage.googleapis.com"


class GcsSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where Google Cloud Storage is; endpoint None is Google's.

    `credentials` is a folder with the file key.json, a service account's key or the configuration
    of a workload identity federation; None stands for the pod's own identity. An emulator, which
    has an endpoint with http:// and no credentials, gets requests without any.
    """

    type: str = "gcs"
    endpoint: str | None = None
    ca_file: str | None = None
    credentials: str | None = None

    @property
    def base_url(self) -> str:
        """The URL of the API, without a slash at its end."""
        return (self.endpoint or _GOOGLE).rstrip("/")

    @property
    def is_open(self) -> bool:
        """Whether requests carry no credentials."""
        return self.credentials is None and self.base_url.startswith("http://")
