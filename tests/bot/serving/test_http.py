"""The bot's own server: health for machines, sentences for people."""

import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bot.errors import ConfigurationError, DatabaseError
from bot.serving.http import Pages, Server, application, listening_at
from playground.loopback import reserved_port


@contextmanager
def served(pages: Pages) -> Iterator[str]:
    with reserved_port() as port:
        server = Server(application(pages), f"127.0.0.1:{port}")
        server.start()
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.stop()


def get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_readiness_names_the_part_that_is_not() -> None:
    troubles: dict[str, str | None] = {"database": None, "slack": "no socket answers"}
    pages = Pages(ready={name: lambda name=name: troubles[name] for name in troubles})
    with served(pages) as url:
        assert get(f"{url}/healthz") == (200, "alive\n")
        assert get(f"{url}/readyz") == (503, "database: ready\nslack: no socket answers\n")
        troubles["slack"] = None
        assert get(f"{url}/readyz") == (200, "database: ready\nslack: ready\n")


def test_metrics_are_brought_up_to_date_first() -> None:
    looks = iter((b"quartermaster_runs 1.0\n", b"quartermaster_runs 2.0\n"))
    with served(Pages(ready={}, metrics=lambda: next(looks))) as url:
        assert get(f"{url}/metrics") == (200, "quartermaster_runs 1.0\n")
        assert get(f"{url}/metrics") == (200, "quartermaster_runs 2.0\n")


def test_metrics_of_the_process_are_shown() -> None:
    with served(Pages(ready={})) as url:
        assert "# TYPE process_max_fds gauge" in get(f"{url}/metrics")[1]


def test_pages_outlive_a_database_that_is_away() -> None:
    def pulse() -> dict[str, object]:
        raise DatabaseError("The database failed (OperationalError).")

    with served(Pages(ready={}, pulse=pulse)) as url:
        assert get(f"{url}/pulse") == (503, "The database failed (OperationalError).\n")
        assert get(f"{url}/healthz") == (200, "alive\n")


def test_the_pulse_is_for_playgrounds_only() -> None:
    with served(Pages(ready={})) as url:
        assert get(f"{url}/pulse")[0] == 404
    with served(Pages(ready={}, pulse=lambda: {"quiet": True})) as url:
        assert get(f"{url}/pulse") == (200, '{"quiet":true}')


def test_unknown_pages_say_which_exist() -> None:
    with served(Pages(ready={})) as url:
        assert get(f"{url}/admin") == (
            404,
            "Not found. Try /healthz, /readyz or /metrics.\n",
        )


def test_a_taken_address_is_said_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        server = Server(application(Pages(ready={})), address)
        with pytest.raises(ConfigurationError) as caught:
            server.start()
    assert (caught.value.message, caught.value.hint) == (
        f"Cannot listen on {address}.",
        "Is another process using it? Set http.listen.",
    )


def test_strangers_are_told_no_more_than_needed() -> None:
    troubles: dict[str, str | None] = {"database": "db.internal is down"}
    dead: dict[str, str] = {"sender": "It has ended unexpectedly."}
    pages = Pages(
        ready={"database": lambda: troubles["database"]},
        pulse=lambda: {"quiet": True},
        dead=lambda: dead,
        is_public=True,
    )
    with served(pages) as url:
        assert get(f"{url}/readyz") == (503, "not ready\n")
        assert get(f"{url}/healthz") == (503, "dead\n")
        assert get(f"{url}/metrics") == (404, "Not found.\n")
        assert get(f"{url}/pulse") == (404, "Not found.\n")
        troubles["database"] = None
        dead.clear()
        assert get(f"{url}/readyz") == (200, "ready\n")
        assert get(f"{url}/healthz") == (200, "alive\n")


def test_dead_threads_are_told_with_their_names() -> None:
    with served(Pages(ready={}, dead=lambda: {"sender": "It has ended unexpectedly."})) as url:
        assert get(f"{url}/healthz") == (503, "thread sender: It has ended unexpectedly.\n")


def test_answers_wait_for_no_confirmation() -> None:
    with (
        listening_at("127.0.0.1", 0) as listening,
        socket.create_connection(listening.getsockname()) as client,
    ):
        accepted, address = listening.accept()
        with accepted:
            assert address == client.getsockname()
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
