"""Programs of kubeconfigs that print credentials."""

import json
import os
import signal
import ssl
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.cluster.api.connection import Connection, Request
from bot.cluster.api.credentials import load_access
from bot.cluster.api.logins.program import Program
from bot.errors import ClusterError
from tests.bot.cluster.api.api_server import (
    ApiServer,
    answer,
    eventually,
    serving,
    write_kubeconfig,
)
from tests.bot.cluster.conftest import PATIENT
from tests.cluster.certificates import make_authority, make_certificate

READ = Request("Reading x", "GET", "/x")
ASKING = replace(PATIENT, headers_kept=0.0)
VERSION = "client.authentication.k8s.io/v1"


def program(folder: Path, script: str, name: str = "tokens") -> dict[str, object]:
    """A program beside the kubeconfig."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return {"exec": {"apiVersion": VERSION, "command": f"./{name}", "interactiveMode": "Never"}}


def printed(status: Mapping[str, str]) -> str:
    said = {"apiVersion": VERSION, "kind": "ExecCredential", "status": dict(status)}
    return f"cat <<'END'\n{json.dumps(said)}\nEND"


def failure(folder: Path, user: Mapping[str, object]) -> ClusterError:
    path = write_kubeconfig(folder / "config", "http://127.0.0.1:9", user=user)
    with pytest.raises(ClusterError) as caught:
        load_access(str(path))
    return caught.value


def test_a_program_beside_the_kubeconfig_runs(server: ApiServer, tmp_path: Path) -> None:
    user = program(tmp_path, printed({"token": "one"}))
    path = write_kubeconfig(tmp_path / "config", server.url, user=user)
    server.on("GET", "/x", answer(200, "in"))
    connection = Connection.to(str(path), timeouts=ASKING)
    connection.send(READ)
    assert server.asked[0].headers["authorization"] == "Bearer one"
    assert connection.login().means == "a token that the program ./tokens prints"


def test_a_program_gets_its_variables(server: ApiServer, tmp_path: Path) -> None:
    script = 'printf "%s" "$KUBERNETES_EXEC_INFO" >info\n' + printed({"token": "one"})
    user: dict[str, dict[str, object]] = {"exec": {}}
    user["exec"] = dict(program(tmp_path, script)["exec"])  # type: ignore[call-overload]
    user["exec"] |= {"provideClusterInfo": True, "env": [{"name": "REGION", "value": "north"}]}
    path = write_kubeconfig(tmp_path / "config", server.url, user=user)
    load_access(str(path))
    assert json.loads((tmp_path / "info").read_text()) == {
        "apiVersion": VERSION,
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": {"server": server.url}},
    }


def test_a_printed_certificate_opens_the_cluster(tmp_path: Path) -> None:
    for name in ("servers", "clients"):
        make_authority(tmp_path, name)
    make_certificate(tmp_path, "server", "servers", "subjectAltName=IP:127.0.0.1")
    make_certificate(tmp_path, "bot", "clients")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.crt", tmp_path / "server.key")
    context.load_verify_locations(tmp_path / "clients.crt")
    context.verify_mode = ssl.CERT_REQUIRED
    status = {
        "clientCertificateData": (tmp_path / "bot.crt").read_text(),
        "clientKeyData": (tmp_path / "bot.key").read_text(),
    }
    with serving(context) as server:
        user = program(tmp_path, printed(status))
        path = write_kubeconfig(tmp_path / "config", server.url, user=user)
        config = json.loads(path.read_text())
        config["clusters"][0]["cluster"]["certificate-authority"] = "servers.crt"
        path.write_text(json.dumps(config))
        server.on("GET", "/x", answer(200, "in"))
        connection = Connection.to(str(path), timeouts=ASKING)
        assert connection.send(READ).body == b'"in"'
    assert connection.login().means == "the certificate that the program ./tokens prints"


@pytest.mark.parametrize(("valid_for", "runs"), [(-1, 2), (60, 1)])
def test_a_printed_certificate_is_renewed_before_it_ends(
    server: ApiServer, tmp_path: Path, valid_for: int, runs: int
) -> None:
    make_authority(tmp_path, "clients")
    make_certificate(tmp_path, "bot", "clients")
    until = datetime.now(UTC) + timedelta(minutes=valid_for)
    status = {
        "clientCertificateData": (tmp_path / "bot.crt").read_text(),
        "clientKeyData": (tmp_path / "bot.key").read_text(),
        "expirationTimestamp": until.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    user = program(tmp_path, "echo run >>runs\n" + printed(status))
    path = write_kubeconfig(tmp_path / "config", server.url, user=user)
    server.on("GET", "/x", answer(200, "in"))
    connection = Connection.to(str(path), timeouts=ASKING)
    for _ in range(2):
        connection.send(READ)
    assert len((tmp_path / "runs").read_text().split()) == runs
    # While it cannot be renewed, the one there is serves on.
    program(tmp_path, "exit 1")
    assert connection.send(READ).body == b'"in"'


def test_a_missing_program_is_named(tmp_path: Path) -> None:
    plugin = {"apiVersion": VERSION, "command": "company-login"}
    error = failure(tmp_path, {"exec": plugin})
    assert error.message == (
        "The kubeconfig needs the program company-login, which is not installed here."
    )
    assert error.hint == (
        "Install it in the bot's image, or give the bot a kubeconfig with the token of a service"
        " account: see Several clusters in deploy/README.md."
    )
    assert error.reason == "Credentials"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo please log in >&2; exit 3", "it ended with 3: please log in."),
        ("echo password=hunter22 >&2; exit 3", "it ended with 3: password=[hidden]."),
        (
            "echo no JSON",
            "it did not print an ExecCredential (JSON is malformed: invalid character (byte 4)).",
        ),
        (printed({}), "it printed no token."),
        (
            printed({"token": "one"}).replace("/v1", "/v1beta1"),
            f"it printed {VERSION}beta1, the kubeconfig says {VERSION}.",
        ),
    ],
)
def test_failures_of_a_program_are_said(tmp_path: Path, script: str, said: str) -> None:
    error = failure(tmp_path, program(tmp_path, script))
    what = "The program ./tokens of the kubeconfig did not log the bot in"
    assert error.message == f"{what}: {said}"
    assert error.hint == "Run it where the bot runs, and mend what ./tokens reports."


@pytest.mark.parametrize(
    "user",
    [
        {"exec": "aws eks get-token"},
        {"exec": {"apiVersion": VERSION, "command": "aws", "env": [{"value": "ml"}]}},
        {"exec": {"apiVersion": VERSION, "command": "aws", "args": 3}},
        {"exec": {"command": "aws"}},
        {"auth-provider": "azure"},
        {"auth-provider": {"name": "azure", "config": ["client-id"]}},
        {"auth-provider": {"name": "ldap"}},
    ],
)
def test_misshapen_users_of_kubeconfigs_are_said(tmp_path: Path, user: dict[str, object]) -> None:
    error = failure(tmp_path, user)
    assert error.message.startswith(
        f"Cannot load credentials of the cluster from {tmp_path / 'config'}: "
    )
    assert error.reason == "Credentials"


def test_a_program_that_hangs_is_ended(tmp_path: Path) -> None:
    from kubernetes.config.kube_config import ConfigNode  # noqa: PLC0415 - only here

    node: type = ConfigNode
    user = program(tmp_path, "sleep 600 & echo $! >pid; wait")
    run = Program(node("user", user), str(tmp_path), None, timeout=0.5)
    with pytest.raises(ClusterError) as caught:
        run.run()
    assert caught.value.message.endswith(": it did not end within 0.5 s.")
    # What it started ends with it: the kernel takes it away after the signal, not with it.
    left = Path("/proc", (tmp_path / "pid").read_text().strip(), "cwd")
    eventually(lambda: not left.exists())


def test_what_outlives_a_program_delays_nothing(tmp_path: Path) -> None:
    from kubernetes.config.kube_config import ConfigNode  # noqa: PLC0415 - only here

    node: type = ConfigNode
    # In a session of its own, and with the program's output open.
    user = program(tmp_path, "setsid sleep 20 & echo $! >pid; wait")
    run = Program(node("user", user), str(tmp_path), None, timeout=0.5)
    begun = time.monotonic()
    try:
        with pytest.raises(ClusterError) as caught:
            run.run()
    finally:
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert caught.value.message.endswith(": it did not end within 0.5 s.")
    assert time.monotonic() - begun < 15
