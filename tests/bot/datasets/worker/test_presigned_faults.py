"""Pushes from a computer where the store, the worker or another person gets in between."""

import pytest

from bot.datasets.worker.failures import WorkError
from tests.bot.datasets.worker.computers import Computer
from tests.bot.datasets.worker.proxy import Exchange, proxied
from tests.bot.datasets.worker.pushes import Folder


@pytest.fixture
def computer(folder: Folder) -> Computer:
    """A computer with a few small files."""
    return Computer(folder)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "ExpiredToken"),
        (409, "ConditionalRequestConflict"),
        (400, "RequestTimeout"),
        (400, "BadDigest"),
    ],
)
def test_refused_requests_are_sent_again(computer: Computer, status: int, code: str) -> None:
    folder, refused = computer.folder, set[str]()

    def refuse(exchange: Exchange) -> None:
        key = exchange.path.partition("?")[0]
        if "/set/" in key and key not in refused:
            refused.add(key)
            exchange.answer(status, code)

    with (
        proxied(folder.lake.server.endpoint, before=refuse) as proxy,
        computer.received(public=proxy.endpoint) as worker,
    ):
        assert computer.push(worker.grant()).uploaded_bytes == 6001
        worker.result.result(10)
    assert (folder.stored() == folder.files(), len(refused)) == (True, 5)


def test_expired_token_of_a_grant_is_named(computer: Computer) -> None:
    def expire(exchange: Exchange) -> None:
        exchange.answer(400, "ExpiredToken")

    with (
        proxied(computer.folder.lake.server.endpoint, before=expire) as proxy,
        computer.received(public=proxy.endpoint) as worker,
        pytest.raises(WorkError) as failed,
    ):
        computer.push(worker.grant())
    assert (failed.value.reason, failed.value.hint) == (
        "no_access", "Click Get the command on the card in Slack again.",
    )  # fmt: skip
