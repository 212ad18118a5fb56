"""Reads from Azure NetApp Files through Azure Resource Manager; each ends within seconds."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from bot.config import Anf, Settings
from bot.errors import ConflictError, StorageError
from bot.volumes.failures import failing
from bot.volumes.resources import AnfVolume, Estate, Pool, PoolPlace, VolumePlace
from bot.volumes.shapes import pool_of, volume_of

if TYPE_CHECKING:
    from azure.mgmt.netapp import NetAppManagementClient
    from azure.mgmt.netapp.models import CapacityPool

T = TypeVar("T")

_TRIES = 2
_MISSING, _SERVER_ERROR = 404, 500

DEADLINE_SECONDS = 25.0
"""How long reads for an answer may take together; a person waits for it."""


class Deadline:
    """The time after which a series of requests to Azure is given up."""

    def __init__(self, seconds: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._monotonic = monotonic
        self._end = monotonic() + seconds

    def check(self) -> None:
        """Raises StorageError once the time has passed."""
        if self._monotonic() > self._end:
            raise StorageError(
                f"Azure took longer than {self._seconds:.0f} s. The request was cancelled.",
                "Azure is slow at the moment. Try again later.",
            )


def configured(settings: Settings) -> Anf:
    """The configuration of Azure NetApp Files; raises ConflictError if there is none."""
    if settings.anf is None:
        raise ConflictError(
            "Azure NetApp Files is not configured.",
            "A platform admin can add `anf` to quartermaster.yaml; see docs/anf.md.",
        )
    return settings.anf


class NetAppFiles:
    """The pools and volumes of the configured subscription.

    Methods raise StorageError if Azure refuses or cannot be reached; a read that failed in transit
    is tried once more. Thread-safe.
    """

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self._settings = settings
        self._lock = Lock()
        self._client: NetAppManagementClient | None = None
        self._opened: Anf | None = None

    @property
    def is_configured(self) -> bool:
        """Whether Azure NetApp Files is configured."""
        return self._settings().anf is not None

    @property
    def configured(self) -> Anf:
        """The configuration of Azure NetApp Files; raises ConflictError if there is none."""
        return configured(self._settings())

    def estate(self, deadline: Deadline) -> Estate:
        """All pools and volumes; raises StorageError after the deadline."""
        pools = tuple(self.pools(deadline))
        volumes: list[AnfVolume] = []
        for pool in pools:
            deadline.check()
            volumes += self.volumes(pool.place)
        return Estate(pools, tuple(volumes))

    def pools(self, deadline: Deadline) -> Iterator[Pool]:
        """The pools of the configured accounts."""
        for group, account in self.accounts():
            deadline.check()
            doing = f"Listing the capacity pools of account {account}"
            listed = self._read(doing, partial(_pools, group, account))
            yield from (pool_of(each) for each in listed)

    def volumes(self, place: PoolPlace) -> list[AnfVolume]:
        """The volumes of a pool."""
        doing = f"Listing the volumes of pool {place.pool}"
        listed = self._read(doing, lambda sdk: list(sdk.volumes.list(*place)))
        return [volume_of(each) for each in listed]

    def volume(self, place: VolumePlace) -> AnfVolume | None:
        """One volume; None if there is none of that id, for example after a move."""
        doing = f"Reading volume {place.name}"
        found = self._one(doing, lambda sdk: sdk.volumes.get(*place))
        return None if found is None else volume_of(found)

    def pool(self, place: PoolPlace) -> Pool | None:
        """One pool; None if there is none of that name."""
        found = self._one(f"Reading pool {place.pool}", lambda sdk: sdk.pools.get(*place))
        return None if found is None else pool_of(found)

    def permissions(self, group: str) -> list[Any]:
        """The permissions of the bot's identity in a resource group, as Azure lists them."""
        anf = self.configured
        address = (
            f"{anf.endpoint}/subscriptions/{anf.subscription}/resourceGroups/{group}"
            "/providers/Microsoft.Authorization/permissions?api-version=2022-04-01"
        )
        told = self._read(
            f"Reading the bot's permissions in resource group {group}",
            lambda sdk: _get(sdk, address),
        )
        return list(told.get("value") or ())

    def once(self, doing: str, ask: "Callable[[NetAppManagementClient], T]") -> T:
        """The library's answer to a request that is not repeated, because it changes something."""
        with failing(doing):
            return ask(self._open())

    def close(self) -> None:
        """Closes its connections."""
        with self._lock:
            self._shut()

    def accounts(self) -> list[tuple[str, str]]:
        """Resource group and name of each account that is read."""
        named = self.configured.accounts
        if named:
            return [(group, account) for group, _, account in (n.partition("/") for n in named)]
        listed = self._read(
            "Listing the NetApp accounts of the subscription",
            lambda sdk: [str(each.id) for each in sdk.accounts.list_by_subscription()],
        )
        return [(parts[4], parts[8]) for parts in (each.split("/") for each in listed)]

    def _one(self, doing: str, ask: "Callable[[NetAppManagementClient], T]") -> T | None:
        try:
            return self._read(doing, ask)
        except StorageError as error:
            if error.status == _MISSING:
                return None
            raise

    def _read(self, doing: str, ask: "Callable[[NetAppManagementClient], T]") -> T:
        """Repeats a read once after a lost response or a server error, never after throttling."""
        for left in reversed(range(_TRIES)):
            try:
                with failing(doing):
                    return ask(self._open())
            except StorageError as error:
                is_passing = error.status is None or error.status >= _SERVER_ERROR
                if not (left and is_passing):
                    raise
        raise AssertionError

    def _open(self) -> "NetAppManagementClient":
        # Importing the SDK takes a second, so only callers of Azure pay for it.
        from bot.volumes.arm import open_client  # noqa: PLC0415 - see above

        anf = self.configured
        with self._lock:
            if self._client is None or self._opened != anf:
                self._shut()
                self._client, self._opened = open_client(anf), anf
            return self._client

    def _shut(self) -> None:
        if self._client is not None:
            self._client.close()
        self._client = None


def _pools(group: str, account: str, sdk: "NetAppManagementClient") -> "list[CapacityPool]":
    return list(sdk.pools.list(group, account))


def _get(sdk: "NetAppManagementClient", address: str) -> Any:
    """The JSON at an address of Resource Manager that the SDK has no method for."""
    from azure.core.rest import HttpRequest  # noqa: PLC0415 - as above

    answer = sdk.send_request(HttpRequest("GET", address))
    answer.raise_for_status()
    return answer.json()
