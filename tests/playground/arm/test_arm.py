"""The playground's Resource Manager, asked by the real SDK as by the recording."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from azure.core.exceptions import ClientAuthenticationError, HttpResponseError, ServiceResponseError
from azure.mgmt.netapp import NetAppManagementClient

from playground.arm.estate import ACCOUNT, GIB, GROUP, SUBSCRIPTION, TIB, Snapshot
from playground.ledger import Fault
from tests.arm import PATIENCE_SECONDS, START, Arm
from tests.playground.arm.sdk import client, home, place, refusal, token


@contextmanager
def talking(arm: Arm) -> Iterator[NetAppManagementClient]:
    with client(arm) as open_client:
        yield open_client


def raw(arm: Arm, method: str, address: str, body: Any = None) -> tuple[int, Any, dict[str, str]]:
    """Status, body and headers as they are on the wire."""
    headers = {"Authorization": f"Bearer {token(arm)}", "Content-Type": "application/json"}
    content = None if body is None else json.dumps(body).encode()
    request = Request(address, content, headers, method=method)
    try:
        with urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            text = answer.read()
            return answer.status, json.loads(text) if text else None, dict(answer.headers)
    except HTTPError as error:
        return error.code, json.loads(error.read()), dict(error.headers)


def test_pools_tell_what_the_service_tells(arm: Arm) -> None:
    arm.estate.add_volume(arm.premium, "vol", 100 * GIB)
    with talking(arm) as sdk:
        found = {each.name: each.properties for each in sdk.pools.list(GROUP, ACCOUNT)}
        account = next(iter(sdk.accounts.list_by_subscription()))
    assert account.location == "westeurope"
    premium = found[f"{ACCOUNT}/premium"]
    assert premium is not None
    assert (premium.service_level, premium.size, premium.qos_type) == ("Premium", 2 * TIB, "Auto")
    assert premium.total_throughput_mibps == 131.072
    assert premium.utilized_throughput_mibps == 6.4


def test_lists_come_a_page_at_a_time(arm: Arm) -> None:
    arm.app.routes.page_size = 3
    with talking(arm) as sdk:
        found = [each.name for each in sdk.pools.list(GROUP, ACCOUNT)]
    assert found == [f"{ACCOUNT}/{name}" for name in ("standard", "premium", "ultra", "tuned")]
    assert arm.asked() == ["GET capacityPools", "GET capacityPools"]


def test_move_is_answered_as_in_the_recording(arm: Arm) -> None:
    volume = arm.estate.add_volume(arm.standard, "vol", 100 * GIB)
    old, target = arm.estate.volume_id(volume), arm.estate.pool_id(arm.premium)
    address = f"{arm.url}{old}/poolChange?api-version=2026-01-01"
    status, body, headers = raw(arm, "POST", address, {"newPoolResourceId": target})
    assert (status, body, headers["content-length"]) == (202, None, "0")
    assert "retry-after" not in {each.lower() for each in headers}
    asking, last = headers["azure-asyncoperation"], headers["location"]
    assert last == f"{asking}&operationResultResponseType=Location"
    _, progress, _ = raw(arm, "GET", asking)
    assert (progress["status"], progress["percentComplete"]) == ("Moving", 0.0)
    assert progress["endTime"] == "0001-01-01T00:00:00Z"
    assert progress["properties"]["resourceName"] == old
    assert raw(arm, "GET", last)[0] == 202
    arm.later()
    assert raw(arm, "GET", asking)[1]["status"] == "Succeeded"
    moved = raw(arm, "GET", last)[1]
    assert moved["id"] == f"{target}/volumes/vol"
    assert moved["properties"]["creationToken"] == "vol"
    status, body, _ = raw(arm, "GET", f"{arm.url}{old}?api-version=2026-01-01")
    assert (status, body["error"]["code"]) == (404, "ResourceNotFound")


@pytest.mark.parametrize(("outcome", "code"), [("Failed", "InternalServerError"), ("Canceled", "")])
def test_operation_can_end_without_success(arm: Arm, outcome: Any, code: str) -> None:
    volume = arm.estate.add_volume(arm.standard, "vol", 100 * GIB)
    arm.app.routes.operations.outcomes = [outcome]
    arm.app.routes.operations.takes = timedelta(0)
    body: Any = {"newPoolResourceId": arm.estate.pool_id(arm.premium)}
    with talking(arm) as sdk, pytest.raises(HttpResponseError) as caught:
        sdk.volumes.begin_pool_change(*place(volume), body).result()
    assert volume.pool is arm.standard
    assert volume.busy == ""
    assert (caught.value.error.code if caught.value.error else "") == code


def test_operation_that_never_ends_is_busy(arm: Arm) -> None:
    volume = arm.estate.add_volume(arm.standard, "vol", 100 * GIB)
    arm.app.routes.operations.outcomes = ["never"]
    body: Any = {"newPoolResourceId": arm.estate.pool_id(arm.premium)}
    with talking(arm) as sdk:
        sdk.volumes.begin_pool_change(*place(volume), body, polling=False)
        arm.later(timedelta(days=30))
        told = refusal(lambda: sdk.volumes.begin_pool_change(*place(volume), body, polling=False))
    words = "Another operation is in progress on volume vol. Retry later."
    assert told == (409, "Conflict", words)


def test_move_down_waits_for_a_day(arm: Arm) -> None:
    volume = arm.estate.add_volume(arm.premium, "vol", 100 * GIB)
    volume.raised_at = START
    body: Any = {"newPoolResourceId": arm.estate.pool_id(arm.standard)}
    with talking(arm) as sdk:
        arm.later(timedelta(hours=23))
        told = refusal(lambda: sdk.volumes.begin_pool_change(*place(volume), body))
        arm.later(timedelta(hours=1))
        sdk.volumes.begin_pool_change(*place(volume), body, polling=False)
    assert told[0] == 400
    assert "cannot be decreased yet" in told[2]
    assert "24 hours have to pass" in told[2]


def test_move_needs_room_in_its_target(arm: Arm) -> None:
    arm.estate.add_volume(arm.premium, "full", 2 * TIB - 100 * GIB)
    volume = arm.estate.add_volume(arm.standard, "vol", 101 * GIB)
    body: Any = {"newPoolResourceId": arm.estate.pool_id(arm.premium)}
    with talking(arm) as sdk:
        told = refusal(partial(sdk.volumes.begin_pool_change, *place(volume), body))
    assert told[:2] == (400, "BadRequest")
    assert "too small for the combined volume size" in told[2]


def test_moves_stay_among_pools_alike(arm: Arm) -> None:
    volume = arm.estate.add_volume(arm.standard, "vol", 100 * GIB)
    arm.ultra.encryption = "Double"
    other = arm.estate.add_account(name="other")
    foreign = arm.estate.add_pool(other, "premium", "Premium", 1)
    flexible = arm.estate.add_pool(arm.standard.account, "flex", "Flexible", 1)
    said = []
    with talking(arm) as sdk:
        for target in (arm.standard, arm.ultra, foreign, flexible):
            body: Any = {"newPoolResourceId": arm.estate.pool_id(target)}
            said.append(refusal(partial(sdk.volumes.begin_pool_change, *place(volume), body))[2])
    assert said == [
        "The volume is in the specified pool already.",
        "The encryption type of the pools must be the same.",
        "The new pool must be in the same NetApp account as the volume.",
        "Volumes cannot be moved between Flexible and other service levels.",
    ]


def test_pools_are_of_whole_tebibytes(arm: Arm) -> None:
    arm.estate.add_volume(arm.premium, "vol", TIB + GIB)
    update = arm.app.routes
    with talking(arm) as sdk:
        odd: Any = {"properties": {"size": TIB + 1}}
        small: Any = {"properties": {"size": TIB}}
        level: Any = {"properties": {"serviceLevel": "Ultra"}}
        said = [
            refusal(partial(sdk.pools.begin_update, *home(arm.premium), b))[2]
            for b in (odd, small, level)
        ]
        grown: Any = {"properties": {"size": 3 * TIB}}
        begun = sdk.pools.begin_update(*home(arm.premium), grown)
        assert sdk.pools.get(*home(arm.premium)).properties.provisioning_state == "Updating"
        arm.later()
        begun.result()
    assert said[0] == "Pool size must be a multiple of 1 TiB, from 1 TiB to 2048 TiB."
    assert "is too small for the total size of its volumes" in said[1]
    assert said[2] == "serviceLevel of a pool cannot be changed."
    assert update.estate.pool(arm.premium.account, "PREMIUM").size == 3 * TIB


def test_pools_are_made_with_their_level(arm: Arm) -> None:
    body: Any = {
        "location": "westeurope",
        "properties": {"serviceLevel": "Flexible", "size": TIB, "qosType": "Manual",
                       "customThroughputMibps": 256},
    }  # fmt: skip
    with talking(arm) as sdk:
        begun = sdk.pools.begin_create_or_update(GROUP, ACCOUNT, "flex", body)
        arm.later()
        made = begun.result()
        body["properties"]["qosType"] = "Auto"
        told = refusal(lambda: sdk.pools.begin_create_or_update(GROUP, ACCOUNT, "auto", body))
    assert made.properties is not None
    assert made.properties.total_throughput_mibps == 256
    assert told[2] == "Pools with service level Flexible must have qosType Manual."


def test_pools_are_made_and_deleted_as_operations(arm: Arm) -> None:
    body: Any = {
        "location": "westeurope", "tags": {"made": "here"},
        "properties": {"serviceLevel": "Premium", "size": 4 * TIB},
    }  # fmt: skip
    elsewhere: Any = {**body, "location": "eastus"}
    arm.estate.add_volume(arm.ultra, "data", 100 * GIB)
    with talking(arm) as sdk:
        said = refusal(lambda: sdk.pools.begin_create_or_update(GROUP, ACCOUNT, "new", elsewhere))
        assert said[1] == "InvalidResourceLocation"
        begun = sdk.pools.begin_create_or_update(GROUP, ACCOUNT, "new", body)
        found = sdk.pools.get(GROUP, ACCOUNT, "new")
        assert found.properties is not None
        assert (found.properties.provisioning_state, found.tags) == ("Creating", {"made": "here"})
        assert refusal(lambda: sdk.pools.begin_delete(GROUP, ACCOUNT, "new"))[:2] == (
            409,
            "Conflict",
        )
        arm.later()
        begun.result()
        assert refusal(lambda: sdk.pools.begin_delete(*home(arm.ultra)))[:2] == (
            409, "CannotDeleteResource",
        )  # fmt: skip
        gone = sdk.pools.begin_delete(GROUP, ACCOUNT, "new")
        arm.later()
        gone.result()
        assert refusal(lambda: sdk.pools.get(GROUP, ACCOUNT, "new"))[0] == 404


def test_capacity_of_a_region_is_limited(arm: Arm) -> None:
    arm.estate.quota = 12 * TIB
    body: Any = {
        "location": "westeurope", "properties": {"serviceLevel": "Premium", "size": 4 * TIB}
    }  # fmt: skip
    with talking(arm) as sdk:
        said = refusal(lambda: sdk.pools.begin_create_or_update(GROUP, ACCOUNT, "new", body))
    assert said[2] == (
        "Regional capacity quota exceeded: 13 TiB are needed, and the quota of westeurope is"
        " 12 TiB."
    )


def test_throughput_is_set_in_manual_pools(arm: Arm) -> None:
    volume = arm.estate.add_volume(arm.tuned, "vol", 100 * GIB)
    fixed = arm.estate.add_volume(arm.premium, "auto", 100 * GIB)
    fast: Any = {"properties": {"throughputMibps": 100}}
    too_fast: Any = {"properties": {"throughputMibps": 132}}
    with talking(arm) as sdk:
        begun = sdk.volumes.begin_update(*place(volume), fast, polling=False)
        arm.later()
        assert begun.done()
        found = sdk.volumes.get(*place(volume)).properties
        said = [
            refusal(lambda: sdk.volumes.begin_update(*place(volume), too_fast))[2],
            refusal(lambda: sdk.volumes.begin_update(*place(fixed), fast))[2],
        ]
    assert found is not None
    assert found.throughput_mibps == 100
    assert said == [
        "The pool has 131.072 MiB/s left, and 132 MiB/s are asked for.",
        "throughputMibps can only be set for volumes in pools with qosType Manual.",
    ]


def test_revert_forgets_what_came_later(arm: Arm) -> None:
    volume = arm.estate.add_volume(arm.standard, "vol", 100 * GIB)
    for number, name in enumerate(("one", "two", "three")):
        volume.snapshots[name] = Snapshot(name, START + timedelta(hours=number))
    body: Any = {"snapshotId": f"{arm.estate.volume_id(volume)}/snapshots/two"}
    with talking(arm) as sdk:
        sdk.volumes.begin_revert(*place(volume), body, polling=False)
        arm.later()
        left = [each.name for each in sdk.snapshots.list(*place(volume))]
    assert left == [f"{ACCOUNT}/standard/vol/{name}" for name in ("one", "two")]


@pytest.mark.parametrize(
    ("query", "code"),
    [("", "MissingApiVersionParameter"), ("?api-version=1", "NoRegisteredProviderFound")],
)
def test_every_request_names_its_version(arm: Arm, query: str, code: str) -> None:
    address = f"{arm.url}/subscriptions/{SUBSCRIPTION}/providers/Microsoft.NetApp/netAppAccounts"
    status, body, _ = raw(arm, "GET", address + query)
    assert (status, body["error"]["code"]) == (400, code)


def test_token_that_nobody_gave_is_refused(arm: Arm) -> None:
    with client(arm, "made-up") as sdk, pytest.raises(ClientAuthenticationError) as caught:
        list(sdk.pools.list(GROUP, ACCOUNT))
    assert caught.value.error is not None
    assert caught.value.error.code == "InvalidAuthenticationToken"


def test_missing_permission_is_named(arm: Arm) -> None:
    arm.app.routes.permissions.not_actions = ["Microsoft.NetApp/*/capacityPools/read"]
    with talking(arm) as sdk:
        status, code, words = refusal(lambda: list(sdk.pools.list(GROUP, ACCOUNT)))
    assert (status, code) == (403, "AuthorizationFailed")
    assert "'Microsoft.NetApp/netAppAccounts/capacityPools/read'" in words


def test_throttled_requests_say_how_long(arm: Arm) -> None:
    arm.app.too_many, arm.app.retry_after_seconds = 1, 17
    address = f"{arm.url}/subscriptions/{SUBSCRIPTION}/providers/Microsoft.NetApp/netAppAccounts"
    status, body, headers = raw(arm, "GET", f"{address}?api-version=2026-01-01")
    assert (status, body["error"]["code"], headers["retry-after"]) == (429, "TooManyRequests", "17")


def test_lost_answer_has_its_effect(arm: Arm) -> None:
    volume = arm.estate.add_volume(arm.standard, "vol", 100 * GIB)
    arm.ledger.by_name["POST poolChange"] = [Fault.LOSE_ANSWER]
    body: Any = {"newPoolResourceId": arm.estate.pool_id(arm.premium)}
    with talking(arm) as sdk:
        with pytest.raises(ServiceResponseError):
            sdk.volumes.begin_pool_change(*place(volume), body)
        arm.later()
        found = sdk.volumes.get(GROUP, ACCOUNT, "premium", "vol")
    assert found.id == arm.estate.volume_id(volume)
