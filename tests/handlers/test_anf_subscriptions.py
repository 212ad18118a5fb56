"""/anf where there are two subscriptions, as people read it: also while one of them refuses."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlmodel import Session

from bot.volumes.tables import SeenPool
from playground.arm.estate import FURTHER, SUBSCRIPTION, Pool
from playground.arm.trident import Wanted, provision, storage_class
from playground.cluster.cluster import Cluster
from tests.arm import Arm
from tests.handlers.anf_client import AnfClient, serving
from tests.handlers.command_client import ALICE, APPROVALS, BOB, CAROL, TEAM_A, TEAM_B
from tests.playground.cluster.served import Runner

_MORE = (
    f", other_subscriptions: {{{FURTHER}: [ml-platform/ml]}}, accounts: [ml-platform/ml],"
    " pool_creation: {deletes: any}"
)
_HEADER = "PVC | Pool | Level | Size | Throughput | Used | Subscription"
_LANE = f"lane-data | premium | Premium | 1 TiB | 65.5 MiB/s | unknown | {SUBSCRIPTION}"
_REFUSAL = f"Subscription {FURTHER} could not be read. Listing the capacity pools of account ml:"
_UNKNOWN = (
    "Its pools and volumes are unknown. A platform admin has to give the bot's Azure identity the"
    " role in docs/anf.md."
)


def arrange(cluster: Cluster, arm: Arm) -> None:
    cluster.create("storageclasses", storage_class())
    account = arm.estate.add_account(subscription=FURTHER)
    lab = arm.estate.add_pool(account, "premium", "Premium", 1)
    provision(cluster, arm.estate, arm.premium, Wanted("team-a", "lane-data", 1024))
    provision(cluster, arm.estate, lab, Wanted("team-a", "lab-data", 512))
    provision(cluster, arm.estate, arm.standard, Wanted("team-b", "notes", 512))


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory, runner: Runner) -> Iterator[AnfClient]:
    with serving(tmp_path_factory.mktemp("anf"), runner, arrange, _MORE) as client:
        yield client


@pytest.fixture
def client(opened: AnfClient) -> Iterator[AnfClient]:
    """As it was at first, whatever other tests refused."""
    yield opened
    opened.arm.app.routes.permissions_in(FURTHER).actions = ["Microsoft.NetApp/*"]


def refuse(client: AnfClient) -> None:
    client.arm.app.routes.permissions_in(FURTHER).actions = []


def test_volumes_name_their_subscriptions(client: AnfClient) -> None:
    assert client.reads(ALICE, TEAM_A, "volumes")[-3:] == [
        _HEADER,
        f"lab-data | premium | Premium | 512 GiB | 32.8 MiB/s | unknown | {FURTHER}",
        _LANE,
    ]


def test_volumes_of_the_others_stay_visible(client: AnfClient) -> None:
    refuse(client)
    told = client.reads(ALICE, TEAM_A, "volumes")
    assert told[1].startswith(_REFUSAL)
    assert told[1].endswith(_UNKNOWN)
    assert not [each for each in told if each.startswith("The bot cannot see the volume")]
    assert told[-3:] == [
        _HEADER,
        f"lab-data | unknown | unknown | unknown | unknown | unknown | {FURTHER}",
        _LANE,
    ]


def test_one_volume_names_its_subscription(client: AnfClient) -> None:
    told = client.reads(ALICE, TEAM_A, "show lab-data")
    assert f"Subscription | `{FURTHER}`" in told
    assert "Pool | premium: 1 TiB, 512 GiB free, QoS Auto" in told


def test_pools_of_one_name_are_told_apart(client: AnfClient) -> None:
    told = client.reads(CAROL, APPROVALS, "pools")
    assert told[1] == "Total: 2,099.20 a month, for pools with a known price."
    assert told[2] == (
        "Pool | Level | QoS | Size | Free | Throughput | Monthly cost | Subscription"
    )
    rows = [each for each in told if each.startswith("premium")]
    of = "premium (1 volume) | Premium | Auto"
    assert rows == [
        f"{of} | 2 TiB | 1 TiB | 131.1 MiB/s | 593.92 | {SUBSCRIPTION}",
        f"{of} | 1 TiB | 512 GiB | 65.5 MiB/s | 296.96 | {FURTHER}",
    ]


def test_pools_of_the_others_stay_visible(client: AnfClient) -> None:
    refuse(client)
    told = client.reads(CAROL, APPROVALS, "pools")
    assert told[1].startswith(_REFUSAL)
    assert told[2] == "Total: 1,802.24 a month, for pools with a known price."
    assert [each.endswith(SUBSCRIPTION) for each in told if each.startswith("premium")] == [True]


def test_pvcs_keep_the_levels_of_the_others(client: AnfClient) -> None:
    refuse(client)
    told = client.follows(ALICE, TEAM_A, "pvc", "list")
    assert f"Some levels of Azure NetApp Files are unknown: {_REFUSAL}" in told
    assert "296.96" in told


def test_pvcs_of_read_subscriptions_miss_no_level(client: AnfClient) -> None:
    refuse(client)
    told = client.follows(BOB, TEAM_B, "pvc", "list")
    assert "Total: 76.80 a month, for PVCs with a known price." in told
    assert "could not be read" not in told


def test_new_pool_needs_its_subscription(client: AnfClient) -> None:
    words = "pool create fast --size 1TiB --level premium"
    choices = f"{SUBSCRIPTION}/ml-platform/ml, {FURTHER}/ml-platform/ml"
    assert client.says(CAROL, APPROVALS, f"/anf {words} --account ml-platform/ml") == (
        f"Several subscriptions have ml-platform/ml.\nAdd `--account` with one of: {choices}."
    )
    told = client.reads(CAROL, APPROVALS, f"{words} --account {FURTHER}/ml-platform/ml")
    assert told[0] == "Create capacity pool fast?"
    assert told[3:5] == [f"Subscription | `{FURTHER}`", "Account | `ml-platform/ml`"]


def test_leftover_pools_name_their_subscriptions(client: AnfClient) -> None:
    lab = client.arm.estate.add_pool(client.arm.estate.accounts[1], "spare", "Premium", 2)
    remember(client, lab)
    told = client.says(CAROL, TEAM_A, "/qm leftovers --platform")
    assert f"spare ({FURTHER})" in told
    assert told.splitlines()[-1].strip() == "[Delete spare ...]"
    client.arm.estate.pools.remove(lab)


def test_forms_claim_no_figures_of_either_pool(client: AnfClient) -> None:
    for each in client.arm.estate.pools:
        remember(client, each)
    incoming = client.client.incoming(CAROL, TEAM_A, command="anf", words="level")
    asked = replace(incoming, kind="options", field_name="pool", value="")
    reply = client.client.application.dispatcher.answer(asked)
    assert reply is not None
    assert [each.shown for each in reply.options if each.value != "spare"] == [
        "premium · in several accounts",
        "standard · Standard · 4 TiB free",
        "tuned · Premium · 2 TiB free",
        "ultra · Ultra · 1 TiB free",
    ]


def remember(client: AnfClient, pool: Pool) -> None:
    """The bot has read the pool, without any volumes in it."""
    row = SeenPool(
        id=client.arm.estate.pool_id(pool).lower(), name=pool.name, size_bytes=pool.size,
        taken_bytes=0, level=pool.level, seen_at=datetime.now(UTC),
    )  # fmt: skip

    def save(session: Session) -> None:
        session.merge(row)

    client.client.application.database.transaction(save)
