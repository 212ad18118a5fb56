"""Ways into a cluster that need more than a token in a file."""

import json
import ssl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import which
from threading import Event, Thread
from traceback import format_exception
from typing import Any

import pytest
from kubernetes.config.incluster_config import InClusterConfigLoader

from bot.cluster.api.connection import Connection, Request
from bot.cluster.api.credentials import Access, load_access, open_access
from bot.errors import ClusterError
from tests.bot.cluster.api.api_server import ApiServer, answer, serving, write_kubeconfig
from tests.bot.cluster.conftest import PATIENT

ASKING = replace(PATIENT, headers_kept=0.0)
READ = Request("Reading x", "GET", "/x")
PLUGIN = """
import json, pathlib, sys
print(json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
  "status": {"token": pathlib.Path(sys.argv[1]).read_text(), "expirationTimestamp": sys.argv[2]}}))
"""


def tokens(server: ApiServer) -> list[str]:
    return [each.headers["authorization"].split()[1] for each in server.asked]


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    if which("openssl") is None:
        pytest.skip("openssl is not installed")
    key, cert = tmp_path / "tls.key", tmp_path / "tls.crt"
    what = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=x"
    # Python 3.13 and later want to be told that it may sign itself.
    usage = ["-addext", "keyUsage=critical,keyCertSign,digitalSignature"]
    names = [
        *usage,
        "-addext",
        "subjectAltName=IP:127.0.0.1",
        "-keyout",
        str(key),
        "-out",
        str(cert),
    ]
    subprocess.run(["openssl", *what.split(), *names], check=True, capture_output=True)  # noqa: S607 - a test's own certificate
    return key, cert


@pytest.fixture
def tls_server(certificate: tuple[Path, Path]) -> Iterator[ApiServer]:
    key, cert = certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    with serving(context) as running:
        yield running


@pytest.mark.parametrize(("valid_for", "seen"), [(-1, "two"), (60, "one")])
def test_a_programs_token_is_renewed_when_it_expires(
    server: ApiServer, tmp_path: Path, valid_for: int, seen: str
) -> None:
    token = tmp_path / "token"
    token.write_text("one")
    until = datetime.now(UTC) + timedelta(minutes=valid_for)
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": ["-c", PLUGIN, str(token), until.strftime("%Y-%m-%dT%H:%M:%SZ")],
        "interactiveMode": "Never",
    }
    path = write_kubeconfig(tmp_path / "config", server.url, user={"exec": plugin})
    connection = Connection.to(str(path), timeouts=ASKING)
    server.on("GET", "/x", answer(200, b"ok"))
    connection.send(READ)
    token.write_text("two")
    connection.send(READ)
    assert tokens(server) == ["one", seen]


def test_a_pods_token_is_read_again_every_minute(
    tls_server: ApiServer, certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    token = tmp_path / "sa-token"
    token.write_text("one")
    host, port = tls_server.url.removeprefix("https://").split(":")
    service = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    make_loader: Any = InClusterConfigLoader
    loader = make_loader(str(token), str(certificate[1]), environ=service)

    def load() -> Access:
        return open_access(loader.load_and_set)

    connection = Connection(load, ASKING)
    tls_server.on("GET", "/x", answer(200, b"ok"))
    connection.send(READ)
    token.write_text("two")
    connection.send(READ)
    loader.token_expires_at -= timedelta(minutes=1)
    connection.send(READ)
    assert tokens(tls_server) == ["one", "one", "two"]


def test_credentials_are_not_read_for_each_request(server: ApiServer) -> None:
    read: list[str] = []

    def renewed(configuration: Any) -> None:
        read.append("two" if read else "one")
        configuration.api_key["BearerToken"] = f"Bearer {read[-1]}"

    def fill(configuration: Any) -> None:
        configuration.host = server.url
        configuration.api_key["BearerToken"] = ""
        configuration.refresh_api_key_hook = renewed

    connection = Connection(lambda: open_access(fill), PATIENT)
    server.on("GET", "/x", answer(200, b"ok"))
    connection.send(READ)
    connection.send(READ)
    assert tokens(server) == ["one", "one"]


def test_requests_go_on_while_a_token_is_renewed(server: ApiServer) -> None:
    asked: list[str] = []
    renewing, may_end = Event(), Event()

    def renewed(configuration: Any) -> None:
        asked.append("two" if asked else "one")
        if len(asked) == 2:
            renewing.set()
            may_end.wait(60)
        configuration.api_key["BearerToken"] = f"Bearer {asked[-1]}"

    def fill(configuration: Any) -> None:
        configuration.host = server.url
        configuration.api_key["BearerToken"] = ""
        configuration.refresh_api_key_hook = renewed

    connection = Connection(lambda: open_access(fill), replace(ASKING, read=2.0))
    server.on("GET", "/x", answer(200, b"ok"))
    connection.send(READ)
    first = Thread(target=connection.send, args=(READ,))
    first.start()
    try:
        assert renewing.wait(60)
        assert connection.send(READ).body == b"ok"
    finally:
        may_end.set()
        first.join(60)
    assert tokens(server) == ["one", "one", "two"]


def test_a_server_with_another_certificate_gets_no_token(
    tls_server: ApiServer, tmp_path: Path
) -> None:
    path = write_kubeconfig(tmp_path / "config", tls_server.url, user={"token": "secret"})
    with pytest.raises(ClusterError) as caught:
        Connection.to(str(path), timeouts=PATIENT).send(READ)
    assert caught.value.reason == "Unreachable"
    assert "certificate verify failed" in caught.value.message
    assert tls_server.asked == []


@pytest.mark.parametrize("token", ["hush-hush\n", "hush-hüsh", "hush\x00hush"])
@pytest.mark.parametrize("is_printed", [True, False])
def test_a_token_unfit_for_headers_stays_hidden(
    server: ApiServer, tmp_path: Path, token: str, *, is_printed: bool
) -> None:
    (tmp_path / "token").write_text(token)
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": ["-c", PLUGIN, str(tmp_path / "token"), "2100-01-01T00:00:00Z"],
        "interactiveMode": "Never",
    }
    user = {"exec": plugin} if is_printed else {"token": token}
    path = write_kubeconfig(tmp_path / "config", server.url, user=user)
    with pytest.raises(ClusterError) as caught:
        Connection.to(str(path), timeouts=ASKING).send(READ)
    assert caught.value.message == (
        "The credentials cannot be renewed: the token has line breaks or other characters that no"
        " header takes."
    )
    assert "hush-h" not in "".join(format_exception(caught.value))
    assert server.asked == []


def test_a_context_chooses_among_clusters(server: ApiServer, tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path / "config", server.url, user={"token": "t"})
    config = json.loads(path.read_text())
    config["contexts"].append({"name": "there", "context": {"cluster": "there", "user": "me"}})
    config["clusters"].append({"name": "there", "cluster": {"server": "https://there:6443"}})
    path.write_text(json.dumps(config))
    assert load_access(str(path)).host == server.url
    assert load_access(str(path), "there").host == "https://there:6443"
    with pytest.raises(ClusterError) as caught:
        load_access(str(path), "nowhere")
    assert caught.value.reason == "Credentials"
    assert "Expected object with name nowhere in " in caught.value.message


def test_a_broken_kubeconfig_is_named(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("a: [")
    with pytest.raises(ClusterError) as caught:
        load_access(str(path))
    assert caught.value.message.startswith(f"Cannot load credentials of the cluster from {path}: ")
