"""/anf pool as people type it: shown with the cost, asked for, and refused to most."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from sqlmodel import Session

from bot.slack.card import Card
from bot.slack.text import as_text
from bot.volumes.tables import SeenPool
from playground.arm.estate import SUBSCRIPTION
from tests.arm import Arm, served
from tests.handlers import anf_client
from tests.handlers.anf_client import AnfClient
from tests.handlers.command_client import ALICE, APPROVALS, CAROL, TEAM_A, opened
from tests.playground.cluster.served import Served

CREATE = "pool create premium-2 --size 4TiB --level premium"


@pytest.fixture
def client(
    tmp_path: Path, served_world: Served, monkeypatch: pytest.MonkeyPatch
) -> Iterator[AnfClient]:
    """A bot that may create pools in one account."""
    with served(Arm()) as arm:
        for key, value in arm.identity.items():
            monkeypatch.setenv(key, value)
        anf_client.arrange(served_world.cluster, arm)
        more = "{pool_creation: {deletes: any}, accounts: [ml-platform/ml], "
        settings = anf_client.settings(arm).replace("anf: {", f"anf: {more}")
        url = f"sqlite:///{tmp_path}/test.db"
        with opened(tmp_path, url, served_world, settings) as opened_client:
            yield AnfClient(opened_client, arm, served_world.cluster)


@pytest.fixture
def served_world(served: Served) -> Served:
    return served


def test_admins_see_the_cost_and_request_it(client: AnfClient) -> None:
    assert client.says(CAROL, APPROVALS, f"/anf {CREATE}") == "Asking Azure about pool `premium-2`…"
    assert client.reads(CAROL, APPROVALS, CREATE) == [
        "Create capacity pool premium-2?",
        "Azure bills the whole pool from its creation, whatever it holds.",
        "An approver other than you has to approve it.",
        "Account | `ml-platform/ml`",
        "Level | Premium",
        "QoS | Auto",
        "Size | 4 TiB",
        "Monthly cost | 1,187.84 more",
        "[Request it]",
    ]
    value = client.button(CAROL, APPROVALS, CREATE)
    said = client.client.clicks(CAROL, APPROVALS, "anf.pool", value)
    assert said == "Requested. Its card in this channel shows the progress."
    assert "create pool premium-2 (Premium, 4 TiB), requested by @U0CAROL" in client.says(
        CAROL, APPROVALS, "/approval list"
    )
    again = client.client.clicks(CAROL, APPROVALS, "anf.pool", value)
    assert again.startswith("@U0CAROL already requested to create pool premium-2.")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("pool create new --size 4TiB", "A new pool needs a size and a level."),
        ("pool create new --size 4GiB --level premium", "`--size` takes a size in whole TiB"),
        ("pool create new --size 0TiB --level premium", "`--size` takes a size in whole TiB"),
        ("pool create new --size 101TiB --level premium", "Pools of at most 100 TiB"),
        ("pool create new --size 4TiB --level flexible", "Flexible pools have manual QoS."),
        ("pool delete ultra --size 4TiB", "`delete` takes only a name."),
        ("pool delete ultra --account other/ml", "other/ml is not configured."),
        ("pool grow ultra", "`WHAT` takes one of `create`, `delete`, not `grow`."),
    ],
)
def test_wrong_input_is_refused_with_examples(client: AnfClient, words: str, said: str) -> None:
    assert client.says(CAROL, APPROVALS, f"/anf {words}").startswith(said)


def test_members_and_leads_may_not(client: AnfClient) -> None:
    told = client.says(ALICE, TEAM_A, f"/anf {CREATE}")
    assert told.startswith("This requires the right anf.pool_change, which you do not have here.")


def test_empty_pools_among_leftovers_have_a_button(client: AnfClient) -> None:
    empty = client.arm.estate.add_pool(client.arm.ultra.account, "spare", "Ultra", 2)

    def read(session: Session) -> None:
        for pool in (empty, client.arm.standard):
            key = client.arm.estate.pool_id(pool).lower()
            taken = sum(each.quota for each in client.arm.estate.volumes_of(pool))
            session.add(
                SeenPool(
                    id=key, name=pool.name, size_bytes=pool.size, taken_bytes=taken,
                    level=pool.level, seen_at=datetime.now(UTC),
                )
            )  # fmt: skip

    client.client.application.database.transaction(read)
    told = client.client.says(CAROL, TEAM_A, "/qm leftovers --platform")
    assert told.splitlines()[-1].strip() == "[Delete spare ...]"
    value = f'{{"v":"delete","b":"{SUBSCRIPTION}","a":"ml-platform/ml","p":"spare"}}'
    card = asked_to_delete(client, value)
    assert card.title == "Delete capacity pool spare?"
    assert [each.label for each in card.buttons] == ["Request it"]


def test_buttons_of_an_earlier_release_work(client: AnfClient) -> None:
    """They name no subscription, because there was only one."""
    client.arm.estate.add_pool(client.arm.ultra.account, "spare", "Ultra", 2)
    card = asked_to_delete(client, '{"v":"delete","a":"ml-platform/ml","p":"spare"}')
    assert card.title == "Delete capacity pool spare?"
    value = msgspec.json.decode(card.buttons[0].value)
    assert value.pop("b") == SUBSCRIPTION
    before = msgspec.json.encode(value).decode()
    said = client.client.clicks(CAROL, TEAM_A, "anf.pool", before)
    assert said == "Requested. Its card in this channel shows the progress."


def asked_to_delete(client: AnfClient, value: str) -> Card:
    """What follows a click on `Delete spare ...`."""
    incoming = client.client.incoming(
        CAROL, TEAM_A, kind="button", command="anf.pool-ask", value=value
    )
    reply = client.client.application.dispatcher.answer(incoming)
    assert reply is not None
    assert reply.later is not None, as_text(reply)
    card = reply.later().card
    assert card is not None
    return card
