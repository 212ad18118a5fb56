"""Kubeconfigs of AKS work without az and kubelogin, at a server that checks each token."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.cluster.api.connection import Connection, Request
from bot.errors import ClusterError
from tests.bot.cluster.api.api_server import ApiServer, write_kubeconfig
from tests.bot.cluster.api.logins.amazon import guarded
from tests.bot.cluster.api.logins.entra import (
    ASSERTION,
    CLIENT,
    OBJECT,
    SECRET,
    SERVER_ID,
    TENANT,
    Entra,
    entra,
)
from tests.bot.cluster.conftest import PATIENT

READ = Request("Reading x", "GET", "/x")
ASKING = replace(PATIENT, headers_kept=0.0)
GET = ("get-token", "--environment", "AzurePublicCloud", "--server-id", SERVER_ID)
# As `az aks get-credentials` writes them, with the application by which people log in.
OF_PEOPLE = ("--client-id", "80faf920-1908-4b52-b5ef-a1f4a6e6b65a", "--tenant-id", TENANT)
SPN = ("--login", "spn", "--tenant-id", TENANT, "--client-id", CLIENT)


@pytest.fixture
def login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Entra]:
    with entra(tmp_path) as found:
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "entra.crt"))
        monkeypatch.setenv("AZURE_AUTHORITY_HOST", found.server.url)
        yield found


@pytest.fixture
def workload(login: Entra, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Entra:
    """What the webhook of AKS sets in pods with a workload identity."""
    word = tmp_path / "azure-identity-token"
    word.write_text(ASSERTION)
    monkeypatch.setenv("AZURE_CLIENT_ID", CLIENT)
    monkeypatch.setenv("AZURE_TENANT_ID", TENANT)
    monkeypatch.setenv("AZURE_FEDERATED_TOKEN_FILE", str(word))
    return login


def connect(server: ApiServer, folder: Path, user: Mapping[str, object]) -> Connection:
    path = write_kubeconfig(folder / "config", server.url, user=user)
    return Connection.to(str(path), timeouts=ASKING)


def kubelogin(*arguments: str, **variables: str) -> dict[str, object]:
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "kubelogin",
        "args": [*arguments],
        "env": [{"name": name, "value": value} for name, value in variables.items()] or None,
        "provideClusterInfo": False,
    }
    return {"exec": plugin}


def failure(connection: Connection) -> ClusterError:
    with pytest.raises(ClusterError) as caught:
        connection.send(READ)
    return caught.value


@pytest.mark.parametrize(
    "arguments",
    [
        (*GET, "--login", "workloadidentity"),
        ("get-token", "-l=workloadidentity", f"--server-id={SERVER_ID}"),
        (*GET, *OF_PEOPLE, "--login", "devicecode"),
        (*GET, *OF_PEOPLE),
        (*GET, "--login", "azurecli"),
    ],
)
def test_a_workload_identity_opens_the_cluster(
    server: ApiServer, tmp_path: Path, workload: Entra, arguments: tuple[str, ...]
) -> None:
    server.on("GET", "/x", guarded(workload.judge, "in"))
    connection = connect(server, tmp_path, kubelogin(*arguments))
    assert connection.send(READ).body == b'"in"'
    assert connection.send(READ).body == b'"in"'
    assert len(workload.given) == 1
    found = connection.login()
    assert found.principal is not None
    assert found.principal() == OBJECT


def test_an_old_auth_provider_opens_the_cluster(
    server: ApiServer, tmp_path: Path, workload: Entra
) -> None:
    server.on("GET", "/x", guarded(workload.judge, "in"))
    config = {
        "apiserver-id": SERVER_ID,
        "client-id": OF_PEOPLE[1],
        "config-mode": "1",
        "environment": "AzurePublicCloud",
        "tenant-id": TENANT,
    }
    user = {"auth-provider": {"name": "azure", "config": config}}
    connection = connect(server, tmp_path, user)
    assert connection.send(READ).body == b'"in"'
    assert connection.login().means == (
        "a token of Microsoft Entra for AKS, by the bot's own Azure identity"
    )
    config["config-mode"] = "0"
    assert failure(connect(server, tmp_path, user)).message.endswith(
        ": the auth-provider azure is not supported; for AKS, write it again with az aks"
        " get-credentials."
    )


def test_a_service_principal_opens_by_its_secret(
    server: ApiServer, tmp_path: Path, login: Entra
) -> None:
    server.on("GET", "/x", guarded(login.judge, "in"))
    here = ("--authority-host", login.server.url, "--disable-instance-discovery")
    user = kubelogin(*GET, *SPN, *here, AZURE_CLIENT_SECRET=SECRET)
    connection = connect(server, tmp_path, user)
    assert connection.send(READ).body == b'"in"'
    assert connection.login().means == (
        f"a token of Microsoft Entra for AKS, by the service principal {CLIENT}"
    )
    wrong = connect(server, tmp_path, kubelogin(*GET, *SPN, *here, "--client-secret", "another"))
    error = failure(wrong)
    assert error.message == (
        f"Logging in to AKS by the service principal {CLIENT}: AADSTS7000215: Invalid client"
        " secret provided."
    )
    assert error.hint == (
        "Check tenant, client and its secret or certificate in the kubeconfig. For new ones, run"
        " az ad app credential reset --id CLIENT_ID."
    )
    assert "another" not in json.dumps([error.message, error.hint])


def test_an_ended_token_is_replaced_before_requests(
    server: ApiServer, tmp_path: Path, workload: Entra
) -> None:
    workload.lifetime = timedelta()
    server.on("GET", "/x", guarded(workload.judge, "in"))
    connection = connect(server, tmp_path, kubelogin(*GET, "--login", "workloadidentity"))
    for _ in range(2):
        assert connection.send(READ).body == b'"in"'
    words = [each.headers["authorization"].split()[1] for each in server.asked]
    assert words == workload.given
    assert len(set(words)) == 2


def test_a_revoked_token_is_replaced_once(
    server: ApiServer, tmp_path: Path, workload: Entra
) -> None:
    server.on("GET", "/x", guarded(workload.judge, "in"))
    connection = connect(server, tmp_path, kubelogin(*GET, "--login", "workloadidentity"))
    connection.send(READ)
    workload.revoked.update(workload.given)
    assert connection.send(READ).body == b'"in"'
    assert (len(workload.given), server.count("/x")) == (2, 3)


def test_a_token_for_another_application_is_refused(
    server: ApiServer, tmp_path: Path, workload: Entra
) -> None:
    server.on("GET", "/x", guarded(workload.judge, "in"))
    another = ("get-token", "--server-id", OBJECT, "--login", "workloadidentity")
    error = failure(connect(server, tmp_path, kubelogin(*another)))
    assert error.message == "Reading x: 401 Unauthorized: Audience doesn't match."
    assert error.hint == (
        "The cluster does not accept a token of Microsoft Entra for AKS, by the workload identity;"
        " `quartermaster doctor` says what to do."
    )


def test_an_unknown_workload_identity_is_named(
    server: ApiServer, tmp_path: Path, workload: Entra
) -> None:
    unknown = (*GET, "--login", "workloadidentity", "--client-id", OBJECT)
    error = failure(connect(server, tmp_path, kubelogin(*unknown)))
    assert error.message == (
        f"Logging in to AKS by the workload identity {OBJECT}: AADSTS700016: Application with"
        f" identifier '{OBJECT}' was not found in the directory 'ml'."
    )
    assert error.reason == "Credentials"
    assert workload.given == []


def test_a_pod_without_an_identity_is_told(server: ApiServer, tmp_path: Path, login: Entra) -> None:
    error = failure(connect(server, tmp_path, kubelogin(*GET, "--login", "workloadidentity")))
    assert error.message.startswith(
        "Logging in to AKS by the workload identity: WorkloadIdentityCredential authentication"
        " unavailable. The workload options are not fully configured."
    )
    assert error.hint == (
        "Give the bot's service account a workload identity: az identity federated-credential"
        " create, and azure.workload.identity/client-id in serviceAccount.annotations of the"
        " chart (see AKS in deploy/README.md)."
    )
    assert login.given == []


def test_a_managed_identity_opens_the_cluster(
    server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, login: Entra
) -> None:
    monkeypatch.setenv("IDENTITY_ENDPOINT", f"{server.url}/identity")
    monkeypatch.setenv("IDENTITY_HEADER", "of-the-node")
    server.on("GET", "/identity", login.give_to_managed)
    server.on("GET", "/x", guarded(login.judge, "in"))
    connection = connect(server, tmp_path, kubelogin(*GET, "--login", "msi", "--client-id", CLIENT))
    assert connection.send(READ).body == b'"in"'
    asked = server.requests("/identity")[0]
    assert (asked.query["resource"], asked.query["client_id"]) == (SERVER_ID, CLIENT)


@pytest.mark.parametrize("arguments", [("--pop-enabled",), ("--legacy",), ("--login", "ropc")])
def test_what_only_kubelogin_can_do_needs_it(
    server: ApiServer, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    error = failure(connect(server, tmp_path, kubelogin(*GET, *arguments)))
    assert error.message == (
        "The kubeconfig needs the program kubelogin, which is not installed here."
    )
    assert error.hint == (
        "The bot makes tokens for AKS itself, but not with all these arguments. Write the"
        " kubeconfig again: kubelogin convert-kubeconfig --login workloadidentity (or spn, msi)."
    )
