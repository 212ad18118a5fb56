"""Pushes from a computer where the store, the worker or another person gets in between."""

from dataclasses import replace

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


def test_a_command_after_the_end_says_so(computer: Computer) -> None:
    """As when a computer sleeps before it reads the last answer, and the command is repeated."""
    with computer.received() as worker:
        grant = worker.grant()
        computer.push(grant)
        worker.result.result(10)
        with pytest.raises(WorkError) as failed:
            computer.push(grant)
    assert (failed.value.message, failed.value.hint) == (
        "The push has ended: all files that were listed last have arrived.",
        "Use /dataset put again to push other files.",
    )


def test_unreadable_listings_end_the_command(computer: Computer) -> None:
    """As when the computer has another version of the program."""
    folder = computer.folder

    def damage(exchange: Exchange) -> None:
        if exchange.method == "GET" and "listing.json" in exchange.path:
            exchange.body = b"no listing"

    with proxied(folder.lake.server.endpoint, after=damage) as proxy:
        behind = replace(computer, endpoint=proxy.endpoint)
        with (
            behind.received(public=folder.lake.server.endpoint) as worker,
            pytest.raises(WorkError) as failed,
        ):
            computer.push(worker.grant())
    assert (failed.value.message, failed.value.hint) == (
        "The listing of the files cannot be read: Not a gzipped file (b'no').",
        "Use the same version of quartermaster on the computer as the bot has.",
    )
