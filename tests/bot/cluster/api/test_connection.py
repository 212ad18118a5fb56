"""Raw requests: credentials, time-outs, redirects, refusals."""

import socket
from dataclasses import replace
from pathlib import Path

import pytest

from bot.cluster.api.answers import OverloadedError
from bot.cluster.api.connection import Connection, Request, Timeouts
from bot.errors import ClusterError
from tests.bot.cluster.api.api_server import (
    ApiServer,
    Asked,
    Reply,
    Wire,
    answer,
    status,
    write_kubeconfig,
)
from tests.bot.cluster.conftest import PATIENT

READ = Request("Reading x", "GET", "/x")
WRITE = Request("Creating x", "POST", "/x", body=b"{}")


def failure(connection: Connection, request: Request = READ) -> ClusterError:
    with pytest.raises(ClusterError) as caught:
        connection.send(request)
    return caught.value


def accepting(*tokens: str) -> Reply:
    def reply(asked: Asked, wire: Wire) -> None:
        known = asked.headers.get("authorization") in {f"Bearer {token}" for token in tokens}
        wire.send(200, b"ok") if known else wire.send(401, status(401, "Unauthorized", "no"))

    return reply


def test_sends_the_kubeconfigs_token(server: ApiServer, connection: Connection) -> None:
    server.on("GET", "/x", accepting("first-token"))
    assert connection.send(READ).body == b"ok"


def test_a_rotated_kubeconfig_token_is_taken_up(
    server: ApiServer, connection: Connection, kubeconfig: Path
) -> None:
    server.on("GET", "/x", accepting("first-token"))
    connection.send(READ)
    server.on("GET", "/x", accepting("second-token"))
    write_kubeconfig(kubeconfig, server.url, user={"token": "second-token"})
    assert connection.send(READ).body == b"ok"
    sent = [each.headers["authorization"] for each in server.asked]
    assert sent == ["Bearer first-token", "Bearer first-token", "Bearer second-token"]


def test_a_rotated_token_file_is_taken_up(server: ApiServer, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("one")
    path = write_kubeconfig(tmp_path / "config", server.url, user={"tokenFile": str(token)})
    connection = Connection.to(str(path), timeouts=PATIENT)
    server.on("GET", "/x", accepting("one"))
    connection.send(READ)
    token.write_text("two")
    server.on("GET", "/x", accepting("two"))
    assert connection.send(READ).body == b"ok"


def test_a_refused_token_is_not_sent_for_ever(server: ApiServer, connection: Connection) -> None:
    server.on("GET", "/x", accepting("another"))
    error = failure(connection)
    assert (error.status, error.reason) == (401, "Unauthorized")
    assert error.message == "Reading x: 401 Unauthorized: no."
    assert len(server.asked) == 2


def test_credentials_are_reread_only_now_and_then(server: ApiServer, kubeconfig: Path) -> None:
    connection = Connection.to(str(kubeconfig), timeouts=Timeouts(renewals_apart=60.0))
    server.on("GET", "/x", accepting("another"))
    for _ in range(3):
        failure(connection)
    assert len(server.asked) == 4


def test_a_redirect_never_gets_the_token(server: ApiServer, connection: Connection) -> None:
    server.on("GET", "/x", answer(302, b"", {"Location": f"{server.url}/elsewhere"}))
    error = failure(connection)
    assert (error.status, error.reason) == (302, "Redirect")
    assert [each.path for each in server.asked] == ["/x"]


def test_a_silent_server_is_given_up_on(server: ApiServer, hasty: Connection) -> None:
    server.on("GET", "/x", lambda _, wire: wire.hold())
    error = failure(hasty)
    assert (error.status, error.reason) == (None, "Timeout")
    assert error.message == "Reading x: no answer in time (Read timed out. (read timeout=0.4))."


def test_a_body_in_drops_is_given_up_on(server: ApiServer, kubeconfig: Path) -> None:
    connection = Connection.to(str(kubeconfig), timeouts=replace(PATIENT, whole=0.8))

    def drip(_: Asked, wire: Wire) -> None:
        wire.begin()
        while not server.closing.wait(0.05):
            wire.line(b".")

    server.on("GET", "/x", drip)
    assert failure(connection).message == "Reading x: no answer in time (it took more than 0.8 s)."


def test_nobody_there_is_unreachable(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    connection = Connection.to(
        str(write_kubeconfig(tmp_path / "config", url, user={})), timeouts=PATIENT
    )
    error = failure(connection)
    assert (error.status, error.reason) == (None, "Unreachable")
    assert error.message == (
        "Reading x: the API server cannot be reached "
        "(Failed to establish a new connection: [Errno 111] Connection refused)."
    )


def test_a_read_over_a_stale_connection_is_repeated(
    server: ApiServer, connection: Connection
) -> None:
    server.on("GET", "/x", lambda _, wire: wire.cut(), answer(200, b"ok"))
    assert connection.send(READ).body == b"ok"


def test_a_write_is_never_repeated(server: ApiServer, connection: Connection) -> None:
    server.on("POST", "/x", lambda _, wire: wire.cut(), answer(200, b"ok"))
    assert failure(connection, WRITE).reason == "Unreachable"
    assert len(server.asked) == 1


def test_a_cut_body_is_an_error(server: ApiServer, connection: Connection) -> None:
    def half(_: Asked, wire: Wire) -> None:
        wire.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        wire.cut()

    server.on("GET", "/x", half)
    assert failure(connection).reason == "Unreachable"


def test_too_many_requests_say_when_to_return(server: ApiServer, connection: Connection) -> None:
    body = status(429, "TooManyRequests", "slow down")
    server.on("GET", "/x", answer(429, body, {"Retry-After": "7"}))
    error = failure(connection)
    assert isinstance(error, OverloadedError)
    assert (error.status, error.retry_after_seconds) == (429, 7)


def test_refusals_are_cut_and_hide_secrets(server: ApiServer, connection: Connection) -> None:
    said = "the token=abc123 of Bearer eyJhbGciOiJ.eyJzdWIiOiJ.sig is wrong " + "x" * 500
    server.on("GET", "/x", answer(401, status(401, "Unauthorized", said)))
    error = failure(connection)
    assert error.message.startswith(
        "Reading x: 401 Unauthorized: the token=[hidden] of Bearer [hidden] is wrong xxx"
    )
    assert len(error.message) == 300
    assert error.hint == (
        "The cluster does not accept the token of user me in the kubeconfig;"
        " `quartermaster doctor` says what to do."
    )


def test_a_page_that_is_no_status_is_quoted(server: ApiServer, connection: Connection) -> None:
    server.on("GET", "/x", answer(502, b"<html>\n  bad gateway</html>"))
    error = failure(connection)
    assert error.message == "Reading x: 502 BadGateway: <html> bad gateway</html>."


def test_a_missing_kubeconfig_is_named(tmp_path: Path) -> None:
    error = failure(Connection.to(str(tmp_path / "none")))
    assert error.reason == "Credentials"
    assert error.message == (
        f"Cannot load credentials of the cluster from {tmp_path}/none: "
        "Invalid kube-config file. No configuration found."
    )
