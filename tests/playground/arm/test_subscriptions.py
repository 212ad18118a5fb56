"""The playground's Resource Manager with two subscriptions, in which accounts have one name."""

from typing import Any

import pytest
from azure.core.rest import HttpRequest

from playground.arm.estate import ACCOUNT, FURTHER, GIB, GROUP, SUBSCRIPTION, TIB, Pool
from tests.arm import Arm
from tests.playground.arm.sdk import client, place, refusal

_UNKNOWN = "22222222-2222-2222-2222-222222222222"


@pytest.fixture
def research(arm: Arm) -> Pool:
    """A pool of the second subscription, in a group and an account named as in the first."""
    return arm.estate.add_pool(arm.estate.add_account(subscription=FURTHER), "premium", "Ultra", 1)


def test_accounts_of_one_name_stay_apart(arm: Arm, research: Pool) -> None:
    with client(arm) as first, client(arm, subscription=FURTHER) as second:
        assert [each.id for each in second.accounts.list_by_subscription()] == [
            arm.estate.account_id(research.account)
        ]
        assert len(list(first.accounts.list_by_subscription())) == 1
        assert len(list(second.pools.list(GROUP, ACCOUNT))) == 1
        found = [each.pools.get(GROUP, ACCOUNT, "premium").properties for each in (first, second)]
        assert [each.service_level for each in found if each] == ["Premium", "Ultra"]


def test_unknown_subscription_is_not_found(arm: Arm) -> None:
    with client(arm, subscription=_UNKNOWN) as sdk:
        told = refusal(lambda: sdk.pools.get(GROUP, ACCOUNT, "premium"))
    words = f"The subscription '{_UNKNOWN}' could not be found."
    assert told == (404, "SubscriptionNotFound", words)


@pytest.mark.usefixtures("research")
def test_roles_are_granted_in_each_subscription(arm: Arm) -> None:
    arm.app.routes.permissions_in(FURTHER).actions = []
    with client(arm, subscription=FURTHER) as sdk:
        status, code, words = refusal(lambda: list(sdk.accounts.list_by_subscription()))
    assert (status, code) == (403, "AuthorizationFailed")
    assert f"/subscriptions/{FURTHER}/" in words
    with client(arm) as sdk:
        assert len(list(sdk.accounts.list_by_subscription())) == 1


def test_volumes_move_to_no_other_subscription(arm: Arm, research: Pool) -> None:
    volume = arm.estate.add_volume(arm.premium, "vol", 100 * GIB)
    body: Any = {"newPoolResourceId": arm.estate.pool_id(research)}
    with client(arm) as sdk:
        status, _, words = refusal(lambda: sdk.volumes.begin_pool_change(*place(volume), body))
    assert (status, words) == (
        400,
        "The new pool must be in the same NetApp account as the volume.",
    )


def test_operations_are_known_where_they_began(arm: Arm, research: Pool) -> None:
    body: Any = {"properties": {"size": 2 * TIB}}
    with client(arm, subscription=FURTHER) as sdk:
        sdk.pools.begin_update(GROUP, ACCOUNT, "premium", body, polling=False)
        assert research.busy == "Updating"
        name = next(iter(arm.app.routes.operations.all))
        ask = f"/providers/Microsoft.NetApp/locations/westeurope/operationResults/{name}"
        version = "?api-version=2026-01-01"
        at = f"{arm.url}/subscriptions/"
        assert [
            sdk.send_request(HttpRequest("GET", f"{at}{each}{ask}{version}")).status_code
            for each in (FURTHER, SUBSCRIPTION)
        ] == [200, 404]


def test_each_subscription_has_a_quota_of_capacity(arm: Arm, research: Pool) -> None:
    arm.estate.quota = 9 * TIB
    properties = {"serviceLevel": "Premium", "size": 8 * TIB}
    body: Any = {"location": "westeurope", "properties": properties}
    with client(arm, subscription=FURTHER) as sdk:
        sdk.pools.begin_create_or_update(GROUP, ACCOUNT, "large", body, polling=False)
    with client(arm) as sdk:
        status, _, words = refusal(
            lambda: sdk.pools.begin_create_or_update(GROUP, ACCOUNT, "large", body, polling=False)
        )
    assert status == 400
    assert words.startswith("Regional capacity quota exceeded: 17 TiB are needed")
    assert [each.name for each in arm.estate.pools_of(research.account)] == ["premium", "large"]
