"""What people read when the connection to PostgreSQL ends in the middle of their request."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlmodel import Session, select

from bot.training.tables import Run
from tests.bot.database.cutting import Wire, wired
from tests.handlers.command_client import BOB, TEAM_B, CommandClient, opened
from tests.playground.cluster.served import Served

pytestmark = pytest.mark.postgres

SUBMIT = "/train submit lane --image ghcr.io/acme/lane:3.1 --gpus 1"
RECEIPT = "Submitted run `lane`"


@pytest.fixture
def wire(postgres_url: str) -> Iterator[Wire]:
    with wired(postgres_url) as between:
        yield between


@pytest.fixture
def client(
    tmp_path: Path, postgres_url: str, wire: Wire, served: Served
) -> Iterator[CommandClient]:
    with opened(tmp_path, wire.url(postgres_url), served) as found:
        yield found


def runs(client: CommandClient) -> list[str]:
    def names(session: Session) -> list[str]:
        return list(session.scalars(select(Run.name)))

    return client.application.database.read(names)


def test_a_receipt_survives_the_connection(client: CommandClient, wire: Wire) -> None:
    wire.lost = 1
    assert client.says(BOB, TEAM_B, SUBMIT).startswith(RECEIPT)
    assert runs(client) == ["lane"]


def test_nothing_is_doubled_when_all_is_cut(client: CommandClient, wire: Wire) -> None:
    wire.cut = [b"COMMIT"]
    assert client.says(BOB, TEAM_B, SUBMIT).startswith(RECEIPT)
    assert runs(client) == ["lane"]


def test_a_redelivery_still_says_so(client: CommandClient, wire: Wire) -> None:
    _, _, words = SUBMIT.partition(" ")
    first = client.incoming(BOB, TEAM_B, command="train", words=words)
    wire.lost = 1
    assert client.answer(first).startswith(RECEIPT)
    wire.lost = 1
    again = client.answer(replace(first, doubted=True))
    assert again == "This was already received. Nothing was done twice."
    assert runs(client) == ["lane"]
