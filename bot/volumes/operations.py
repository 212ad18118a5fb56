"""Begins changes of pools and volumes in Azure, and reads the progress of operations."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bot.volumes.anf import NetAppFiles
from bot.volumes.resources import PoolPlace, VolumePlace, subscription_of

if TYPE_CHECKING:
    from azure.core.polling import LROPoller
    from azure.mgmt.netapp import NetAppManagementClient

_ACCEPTED = 202
_RUNNING, _SUCCEEDED = "InProgress", "Succeeded"
_GOOD, _BAD = frozenset({"succeeded"}), frozenset({"failed", "canceled"})


@dataclass(frozen=True)
class Progress:
    """The progress of an operation, in Azure's words; `wait_seconds` is its Retry-After, or 0."""

    status: str
    code: str = ""
    message: str = ""
    wait_seconds: float = 0.0

    @property
    def is_done(self) -> bool:
        """Whether Azure reports success; the resource itself still has to show it."""
        return self.status.lower() in _GOOD

    @property
    def is_lost(self) -> bool:
        """Whether it has failed or was canceled."""
        return self.status.lower() in _BAD


class Operations:
    """Begins changes and reads their progress; raises StorageError if Azure refuses.

    Methods that begin a change return the URL of its operation, empty if there is none to poll.
    """

    def __init__(self, files: NetAppFiles) -> None:
        self._files = files

    def move(self, place: VolumePlace, pool_id: str) -> str:
        """Begins the move of a volume to another pool of its account."""
        body: Any = {"newPoolResourceId": pool_id}
        doing = f"Moving volume {place.name} to pool {pool_id.rpartition('/')[2]}"
        return self._begin(
            place.subscription,
            doing,
            lambda sdk, how: sdk.volumes.begin_pool_change(*place[1:], body, polling=how),
        )

    def set_throughput(self, place: VolumePlace, mibps: float) -> str:
        """Begins setting the throughput of a volume in a pool with manual QoS."""
        body: Any = {"properties": {"throughputMibps": mibps}}
        doing = f"Setting the throughput of volume {place.name}"
        return self._begin(
            place.subscription,
            doing,
            lambda sdk, how: sdk.volumes.begin_update(*place[1:], body, polling=how),
        )

    def resize(self, place: PoolPlace, size_bytes: int) -> str:
        """Begins the resize of a pool."""
        body: Any = {"properties": {"size": size_bytes}}
        doing = f"Changing the size of pool {place.pool}"
        return self._begin(
            place.subscription,
            doing,
            lambda sdk, how: sdk.pools.begin_update(*place[1:], body, polling=how),
        )

    def create_pool(self, place: PoolPlace, body: Any) -> str:
        """Begins to create a pool, or to make an existing one of that name the same."""
        doing = f"Creating pool {place.pool}"
        return self._begin(
            place.subscription,
            doing,
            lambda sdk, how: sdk.pools.begin_create_or_update(*place[1:], body, polling=how),
        )

    def delete_pool(self, place: PoolPlace) -> str:
        """Begins to delete a pool; refused by Azure if it has volumes."""
        doing = f"Deleting pool {place.pool}"
        return self._begin(
            place.subscription,
            doing,
            lambda sdk, how: sdk.pools.begin_delete(*place[1:], polling=how),
        )

    def progress(self, address: str) -> Progress:
        """The progress of an operation; not repeated."""
        return self._files.once(
            subscription_of(urlsplit(address).path),
            "Reading the progress of the operation",
            lambda sdk: _progress(*_asked(sdk, address)),
        )

    def _begin(
        self,
        subscription: str,
        doing: str,
        ask: "Callable[[NetAppManagementClient, Any], LROPoller[Any]]",
    ) -> str:
        from bot.volumes.arm import Accepted  # noqa: PLC0415 - only who asks Azure pays for it

        accepted = Accepted()
        self._files.once(subscription, doing, lambda sdk: ask(sdk, accepted))
        address = accepted.address
        is_arm = urlsplit(address)[:2] == urlsplit(self._files.configured.endpoint)[:2]
        # The bot's token is sent to no other host.
        return address if is_arm else ""


def _asked(sdk: "NetAppManagementClient", address: str) -> tuple[int, Mapping[str, str], Any]:
    from azure.core.rest import HttpRequest  # noqa: PLC0415 - as above

    answer = sdk.send_request(HttpRequest("GET", address))
    answer.raise_for_status()
    return answer.status_code, answer.headers, answer.json() if answer.content else {}


def _progress(status: int, headers: Mapping[str, str], body: Any) -> Progress:
    """The progress from either kind of URL: one with a status, or one without a result yet."""
    told = body if isinstance(body, dict) else {}
    error = told.get("error") or {}
    default = _RUNNING if status == _ACCEPTED else _SUCCEEDED
    wait = headers.get("Retry-After", "")
    return Progress(
        status=str(told.get("status") or default),
        code=str(error.get("code") or ""),
        message=str(error.get("message") or ""),
        wait_seconds=float(wait) if wait.isdecimal() else 0.0,
    )
