"""Which request asks for what."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from playground.arm.changes import Changes
from playground.arm.errors import ArmError, missing
from playground.arm.estate import Estate, Pool, Volume
from playground.arm.operations import Operation, Operations
from playground.arm.permissions import Permissions, action_of
from playground.arm.shapes import account_json, pool_json, snapshot_json, volume_json
from playground.arm.wire import Answer, Call, page

_LEVELS = ("netappaccounts", "capacitypools", "volumes", "snapshots")
_VERBS = {"poolchange": "PoolChange", "revert": "Revert"}
_LOCATION = "operationResultResponseType"


class Group(NamedTuple):
    """A resource group of a subscription, in lower case."""

    subscription: str
    name: str


class Routes:
    """Answers requests that were let in; `page_size` is how much of a list is sent at once."""

    def __init__(self, estate: Estate, now: Callable[[], datetime]) -> None:
        self.estate = estate
        self.operations = Operations(now)
        self.permissions = Permissions()
        self._further: dict[str, Permissions] = {}
        self.page_size = 100
        self._changes = Changes(estate, self.operations, now)

    def permissions_in(self, subscription: str) -> Permissions:
        """What the bot's identity may do in a subscription, by the roles that it has there."""
        if subscription == self.estate.subscription:
            return self.permissions
        return self._further.setdefault(subscription, Permissions())

    def answer(self, call: Call) -> Answer:
        """The answer; ArmError where it is refused."""
        call.refuse_version()
        self.operations.settle()
        where = call.subscription
        if where not in self.estate.subscriptions:
            words = f"The subscription '{where}' could not be found."
            raise ArmError(404, "SubscriptionNotFound", words)
        return self._in_subscription(call, [each.lower() for each in call.parts[2:]])

    def _in_subscription(self, call: Call, rest: list[str]) -> Answer:
        match rest:
            case ["providers", "microsoft.netapp", "locations", _, "operationresults", name]:
                return self._operation(call, name)
            case ["providers", "microsoft.netapp", "netappaccounts"]:
                self._require(call, 1, "")
                there = [e for e in self.estate.accounts if e.subscription == call.subscription]
                rows = [account_json(self.estate, each) for each in there]
                return page(call, rows, self.page_size)
            case ["resourcegroups", _, "providers", "microsoft.authorization", "permissions"]:
                return Answer(200, self.permissions_in(call.subscription).as_json())
            case ["resourcegroups", group, "providers", "microsoft.netapp", *_]:
                return self._in_group(call, Group(call.subscription, group), call.parts[6:])
            case _:
                pass
        raise ArmError(404, "InvalidResourceType", f"Nothing is served at {call.path}.")

    def _in_group(self, call: Call, group: Group, rest: list[str]) -> Answer:
        verb = _VERBS.get(rest[-1].lower(), "") if call.method == "POST" else ""
        kinds = [each.lower() for each in (rest[:-1] if verb else rest)[::2]]
        names = (rest[:-1] if verb else rest)[1::2]
        if not kinds or tuple(kinds) != _LEVELS[: len(kinds)]:
            raise ArmError(404, "InvalidResourceType", f"Nothing is served at {call.path}.")
        self._require(call, len(kinds), verb)
        if len(names) < len(kinds):
            return self._list(call, group, names)
        if len(names) == len(_LEVELS):
            return self._snapshot(call, group, names)
        acts: dict[int, Callable[[Call, Group, list[str], str], Answer]] = {
            1: self._account, 2: self._pool, 3: self._volume,
        }  # fmt: skip
        return acts[len(names)](call, group, names, verb)

    def _require(self, call: Call, names: int, verb: str) -> None:
        self.permissions_in(call.subscription).require(
            action_of(call.method, names, verb), call.path
        )

    def _list(self, call: Call, group: Group, names: list[str]) -> Answer:
        estate, rows = self.estate, list[dict[str, Any]]()
        _only(call, "GET")
        if not names:
            there = [e for e in estate.accounts if (e.subscription, e.group.lower()) == group]
            rows = [account_json(estate, each) for each in there]
        elif len(names) == 1:
            account = estate.account(*group, names[0])
            rows = [pool_json(estate, each) for each in estate.pools_of(account)]
        elif len(names) == 2:  # noqa: PLR2004 - account and pool
            pool = self._pool_named(group, names)
            rows = [volume_json(estate, each) for each in estate.volumes_of(pool)]
        else:
            volume = self._volume_named(group, names)
            rows = [snapshot_json(estate, volume, each) for each in volume.snapshots.values()]
        return page(call, rows, self.page_size)

    def _account(self, call: Call, group: Group, names: list[str], _verb: str) -> Answer:
        _only(call, "GET")
        return Answer(200, account_json(self.estate, self.estate.account(*group, names[0])))

    def _pool(self, call: Call, group: Group, names: list[str], _verb: str) -> Answer:
        _only(call, "GET", "PUT", "PATCH", "DELETE")
        if call.method == "PUT":
            account = self.estate.account(*group, names[0])
            begun, made = self._changes.put_pool(account, names[1], call.body())
            told = pool_json(self.estate, made)
            if begun is None:
                return Answer(200, told)
            return Answer(201, told, self._accepted(call, begun).headers)
        pool = self._pool_named(group, names)
        if call.method == "PATCH":
            return self._accepted(call, self._changes.patch_pool(pool, call.body()))
        if call.method == "DELETE":
            return self._accepted(call, self._changes.delete_pool(pool))
        return Answer(200, pool_json(self.estate, pool))

    def _volume(self, call: Call, group: Group, names: list[str], verb: str) -> Answer:
        volume = self._volume_named(group, names)
        if verb == "PoolChange":
            return self._accepted(call, self._changes.move(volume, call.body()))
        if verb == "Revert":
            return self._accepted(call, self._changes.revert(volume, call.body()))
        _only(call, "GET", "PATCH", "DELETE")
        if call.method == "PATCH":
            return self._accepted(call, self._changes.patch_volume(volume, call.body()))
        if call.method == "DELETE":
            return self._accepted(call, self._changes.delete_volume(volume))
        return Answer(200, volume_json(self.estate, volume))

    def _snapshot(self, call: Call, group: Group, names: list[str]) -> Answer:
        _only(call, "GET")
        volume = self._volume_named(group, names)
        found = volume.snapshots.get(names[3])
        if found is None:
            raise ArmError(404, "ResourceNotFound", f"The Resource '{names[3]}' was not found.")
        return Answer(200, snapshot_json(self.estate, volume, found))

    def _pool_named(self, group: Group, names: list[str]) -> Pool:
        return self.estate.pool(self.estate.account(*group, names[0]), names[1])

    def _volume_named(self, group: Group, names: list[str]) -> Volume:
        return self.estate.volume(self._pool_named(group, names), names[2])

    def _accepted(self, call: Call, begun: Operation) -> Answer:
        """202 and two addresses, without a body and without saying when to come again."""
        base = self.operations.elsewhere or call.base
        where = (
            f"{base}/subscriptions/{call.subscription}/providers/Microsoft.NetApp"
            f"/locations/westeurope/operationResults/{begun.name}"
            f"?api-version={call.query['api-version']}"
        )
        headers = {"azure-asyncoperation": where, "location": f"{where}&{_LOCATION}=Location"}
        return Answer(
            202, None, {**headers, "x-ms-ratelimit-remaining-subscription-writes": "1199"}
        )

    def _operation(self, call: Call, name: str) -> Answer:
        allowed = self.permissions_in(call.subscription)
        allowed.require("Microsoft.NetApp/locations/operationresults/read", call.path)
        found = self.operations.get(name)
        if not found.resource.startswith(f"/subscriptions/{call.subscription}/"):
            raise missing("locations/operationResults", name)
        if call.query.get(_LOCATION) != "Location":
            return Answer(200, found.as_json(call.path))
        if not found.status:
            return Answer(202, None, {"location": f"{call.base}{call.path}"})
        return Answer(204) if found.word == "Deleting" else Answer(200, found.result())


def _only(call: Call, *methods: str) -> None:
    if call.method not in methods:
        words = f"The requested resource does not support http method '{call.method}'."
        raise ArmError(405, "MethodNotAllowed", words)
