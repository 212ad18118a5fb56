"""Reads from Azure NetApp Files through Azure Resource Manager; each ends within seconds."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from bot.config import Anf, Settings
from bot.errors import ConflictError, StorageError
from bot.volumes.deadline import Deadline
from bot.volumes.resources import (
    AnfVolume,
    Estate,
    Pool,
    PoolPlace,
    VolumePlace,
    subscription_of,
)
from bot.volumes.together import Together
from bot.volumes.wording import UNKNOWN

if TYPE_CHECKING:
    from azure.core.exceptions import HttpResponseError
    from azure.mgmt.netapp import NetAppManagementClient
    from azure.mgmt.netapp.models import CapacityPool
    from azure.mgmt.netapp.models import Volume as SdkVolume


T = TypeVar("T")
INSTALLATION_TAG, REQUEST_TAG = "quartermaster-installation", "quartermaster-request"
"""The tags of pools that the bot created: its installation, and the row of the request."""
_NO_SUBSCRIPTION = "SubscriptionNotFound"
_UNCONFIGURED = (
    "A platform admin has to check anf.subscription and anf.other_subscriptions in"
    " quartermaster.yaml."
)
_TRIES = 2
_MISSING, _SERVER_ERROR = 404, 500
_MOST = 600
_UNAUTHENTICATED, _FORBIDDEN, _CONFLICT, _THROTTLED, _BROKEN = 401, 403, 409, 429, 500
_WHO = "AZURE_CLIENT_ID, AZURE_TENANT_ID and related variables; see docs/anf.md."
_HINTS = {
    _UNAUTHENTICATED: f"A platform admin has to check the bot's Azure identity: {_WHO}",
    _FORBIDDEN: "A platform admin has to give the bot's Azure identity the role in docs/anf.md.",
    404: "`/anf volumes` and `/anf pools` show what exists.",
    _CONFLICT: "Another operation is in progress there. Try again when it is done.",
}
_GROUP = 4  # /subscriptions/S/resourceGroups/GROUP/...


def configured(settings: Settings) -> Anf:
    """The configuration of Azure NetApp Files; raises ConflictError if there is none."""
    if settings.anf is None:
        raise ConflictError(
            "Azure NetApp Files is not configured.",
            "A platform admin can add `anf` to quartermaster.yaml; see docs/anf.md.",
        )
    return settings.anf


class NetAppFiles:
    """The pools and volumes of the configured subscriptions, each with a client of its own.

    Methods raise StorageError if Azure refuses or cannot be reached; a read that failed in transit
    is tried once more. Thread-safe.
    """

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self._settings = settings
        self._lock = Lock()
        self._clients: dict[str, NetAppManagementClient] = {}
        self._opened: Anf | None = None
        self._together = Together()

    @property
    def is_configured(self) -> bool:
        """Whether Azure NetApp Files is configured."""
        return self._settings().anf is not None

    @property
    def configured(self) -> Anf:
        """The configuration of Azure NetApp Files; raises ConflictError if there is none."""
        return configured(self._settings())

    def estate(self, deadline: Deadline) -> Estate:
        """All pools and volumes; raises StorageError after the deadline.

        Of several subscriptions, those that refuse or are late are `unread` unless all are.
        """
        subscriptions = tuple(self.configured.subscriptions)
        if len(subscriptions) == 1:
            return self._estate_of(deadline, subscriptions[0])
        return self._together.read(subscriptions, partial(self._estate_of, deadline), deadline)

    def _estate_of(self, deadline: Deadline, subscription: str) -> Estate:
        pools = tuple(self.pools(subscription, deadline))
        volumes: list[AnfVolume] = []
        for pool in pools:
            deadline.check()
            volumes += self.volumes(pool.place)
        return Estate(pools, tuple(volumes))

    def pools(self, subscription: str, deadline: Deadline) -> Iterator[Pool]:
        """The pools of the configured accounts of a subscription."""
        for group, account in self.accounts(subscription):
            deadline.check()
            doing = f"Listing the capacity pools of account {account}"
            listed = self._read(subscription, doing, partial(_pools, group, account))
            yield from (_pool_of(each) for each in listed)

    def volumes(self, place: PoolPlace) -> list[AnfVolume]:
        """The volumes of a pool."""
        doing = f"Listing the volumes of pool {place.pool}"
        listed = self._read(
            place.subscription, doing, lambda sdk: list(sdk.volumes.list(*place[1:]))
        )
        return [_volume_of(each) for each in listed]

    def volume(self, place: VolumePlace) -> AnfVolume | None:
        """One volume; None if there is none of that id, for example after a move."""
        doing = f"Reading volume {place.name}"
        found = self._one(place.subscription, doing, lambda sdk: sdk.volumes.get(*place[1:]))
        return None if found is None else _volume_of(found)

    def pool(self, place: PoolPlace) -> Pool | None:
        """One pool; None if there is none of that name."""
        doing = f"Reading pool {place.pool}"
        found = self._one(place.subscription, doing, lambda sdk: sdk.pools.get(*place[1:]))
        return None if found is None else _pool_of(found)

    def location(self, place: PoolPlace) -> str:
        """The region of a pool's account, in which all of its pools are."""
        doing = f"Reading account {place.account}"
        found = self._read(place.subscription, doing, lambda sdk: sdk.accounts.get(*place[1:3]))
        return str(found.location)

    def permissions(self, subscription: str, group: str) -> list[Any]:
        """The permissions of the bot's identity in a resource group, as Azure lists them."""
        address = (
            f"{self.configured.endpoint}/subscriptions/{subscription}/resourceGroups/{group}"
            "/providers/Microsoft.Authorization/permissions?api-version=2022-04-01"
        )
        told = self._read(
            subscription,
            f"Reading the bot's permissions in resource group {group}",
            lambda sdk: _get(sdk, address),
        )
        return list(told.get("value") or ())

    def once(
        self, subscription: str, doing: str, ask: "Callable[[NetAppManagementClient], T]"
    ) -> T:
        """The library's answer to a request that is not repeated, because it changes something."""
        with _failing(doing):
            return ask(self._open(subscription))

    def close(self) -> None:
        """Closes its connections."""
        with self._lock:
            self._shut()

    def accounts(self, subscription: str) -> list[tuple[str, str]]:
        """Resource group and name of each account of a subscription that is read."""
        named = self.configured.subscriptions.get(subscription)
        if named:
            return [(group, account) for group, _, account in (n.partition("/") for n in named)]
        listed = self._read(
            subscription,
            "Listing the NetApp accounts of the subscription",
            lambda sdk: [str(each.id) for each in sdk.accounts.list_by_subscription()],
        )
        return [(parts[4], parts[8]) for parts in (each.split("/") for each in listed)]

    def _one(
        self, subscription: str, doing: str, ask: "Callable[[NetAppManagementClient], T]"
    ) -> T | None:
        try:
            return self._read(subscription, doing, ask)
        except StorageError as error:
            # Without its subscription nothing shows that a resource is gone.
            if error.status == _MISSING and error.code != _NO_SUBSCRIPTION:
                return None
            raise

    def _read(
        self, subscription: str, doing: str, ask: "Callable[[NetAppManagementClient], T]"
    ) -> T:
        """Repeats a read once after a lost response or a server error, never after throttling."""
        for left in reversed(range(_TRIES)):
            try:
                with _failing(doing):
                    return ask(self._open(subscription))
            except StorageError as error:
                is_passing = error.status is None or error.status >= _SERVER_ERROR
                if not (left and is_passing):
                    raise
        raise AssertionError

    def _open(self, subscription: str) -> "NetAppManagementClient":
        # Importing the SDK takes a second, so only callers of Azure pay for it.
        from bot.volumes.arm import open_client  # noqa: PLC0415 - see above

        anf = self.configured
        if subscription not in anf.subscriptions:
            raise StorageError(
                f"Subscription {subscription or UNKNOWN} is not configured.", _UNCONFIGURED
            )
        with self._lock:
            if self._opened != anf:
                self._shut()
                self._opened = anf
            if subscription not in self._clients:
                self._clients[subscription] = open_client(anf, subscription)
            return self._clients[subscription]

    def _shut(self) -> None:
        for each in self._clients.values():
            each.close()
        self._clients = {}


def _pools(group: str, account: str, sdk: "NetAppManagementClient") -> "list[CapacityPool]":
    return list(sdk.pools.list(group, account))


def _get(sdk: "NetAppManagementClient", address: str) -> Any:
    """The JSON at an address of Resource Manager that the SDK has no method for."""
    from azure.core.rest import HttpRequest  # noqa: PLC0415 - as above

    answer = sdk.send_request(HttpRequest("GET", address))
    answer.raise_for_status()
    return answer.json()


@contextmanager
def _failing(doing: str) -> Iterator[None]:
    """Turns the library's errors into StorageError, whose message begins with `doing`."""
    from azure.core import exceptions  # noqa: PLC0415 - only who asks Azure pays for the import

    try:
        yield
    except exceptions.HttpResponseError as error:
        raise _refusal(doing, error) from error
    except exceptions.AzureError as error:
        raise StorageError(
            f"{doing}: Azure cannot be reached ({type(error).__name__}).",
            "Try again in a minute. The address is set in anf.endpoint.",
        ) from error


def _refusal(doing: str, error: "HttpResponseError") -> StorageError:
    """The StorageError of an HTTP error; without a status the bot has no working identity."""
    status, told = error.status_code, error.error
    code = str(told.code) if told is not None and told.code else ""
    words = str(told.message) if told is not None and told.message else ""
    if status is None:
        return StorageError(
            f"{doing}: the bot has no working Azure identity.",
            f"A platform admin has to set {_WHO}",
            status=_UNAUTHENTICATED,
        )
    said = f"{code}: {words}" if code else (words or f"HTTP {status}")
    wait = _seconds(error)
    return StorageError(
        f"{doing}: Azure returned {_cut(said)}",
        _UNCONFIGURED if code == _NO_SUBSCRIPTION else _hint(status, wait),
        status=status,
        code=code,
        retry_after_seconds=wait,
    )


def _hint(status: int, wait: float) -> str:
    if status == _THROTTLED:
        return f"Azure rate-limited the bot. Try again in {max(wait, 1):.0f} s."
    if status >= _BROKEN:
        return "Try again in a minute."
    return _HINTS.get(status, "Azure's message gives the reason.")


def _seconds(error: "HttpResponseError") -> float:
    headers = getattr(error.response, "headers", {})
    told = str(headers.get("Retry-After", ""))
    return float(told) if told.isdecimal() else 0.0


def _cut(text: str) -> str:
    return text if len(text) <= _MOST else f"{text[: _MOST - 1]}…"


def _pool_of(told: "CapacityPool") -> Pool:
    """A pool from the SDK's model."""
    has = told.properties
    account, name = str(told.name).split("/")[:2]
    return Pool(
        id=str(told.id),
        place=PoolPlace(subscription_of(str(told.id)), _group(told.id), account, name),
        level=_word(has.service_level),
        qos=_word(has.qos_type) or "Auto",
        size_bytes=int(has.size),
        throughput_mibps=has.total_throughput_mibps,
        used_throughput_mibps=has.utilized_throughput_mibps,
        state=has.provisioning_state or "",
        encryption=_word(has.encryption_type),
        uuid=has.pool_id or "",
        made_by=(told.tags or {}).get(INSTALLATION_TAG, ""),
        made_for=(told.tags or {}).get(REQUEST_TAG, ""),
    )


def _volume_of(told: "SdkVolume") -> AnfVolume:
    """A volume from the SDK's model; only some versions of the service report its usage."""
    has = told.properties
    account, pool, name = str(told.name).split("/")[:3]
    used = has.get("usedBytes")
    return AnfVolume(
        id=str(told.id),
        place=VolumePlace(subscription_of(str(told.id)), _group(told.id), account, pool, name),
        path=has.creation_token,
        file_system=has.file_system_id or "",
        level=_word(has.service_level),
        quota_bytes=int(has.usage_threshold),
        throughput_mibps=has.throughput_mibps or has.actual_throughput_mibps,
        used_bytes=None if used is None else int(used),
        state=has.provisioning_state or "",
        addresses=tuple(each.ip_address for each in has.mount_targets or () if each.ip_address),
        maker=_maker(told.tags or {}),
    )


def _group(resource_id: str | None) -> str:
    return str(resource_id).split("/")[_GROUP]


def _word(told: Any) -> str:
    """The value of an enumeration, which may be newer than the SDK."""
    return str(getattr(told, "value", told) or "")


def _maker(tags: Mapping[str, str]) -> str:
    """The backend of the Trident that created a volume, from the tags that Trident sets."""
    try:
        told = json.loads(tags.get("trident", ""))["trident"]["backendUUID"]
    except (KeyError, TypeError, ValueError):
        return ""
    return told if isinstance(told, str) else ""
