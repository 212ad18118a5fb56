"""Kubeconfigs of EKS work without the AWS CLI, at a server that checks each token's form."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from moto.moto_server.threaded_moto_server import ThreadedMotoServer

from bot.cluster.api.connection import Connection, Request
from bot.errors import ClusterError
from tests.bot.cluster.api.api_server import ApiServer, answer, status, write_kubeconfig
from tests.bot.cluster.api.logins.amazon import (
    ACCESS_KEY,
    CLUSTER,
    REGION,
    SECRET_KEY,
    caller,
    fault_of,
    guarded,
    presigned,
)
from tests.bot.cluster.conftest import PATIENT

READ = Request("Reading x", "GET", "/x")
ASKING = replace(PATIENT, headers_kept=0.0)
OF_AWS = ("--region", REGION, "eks", "get-token", "--cluster-name", CLUSTER, "--output", "json")
ROLE = "arn:aws:iam::111122223333:role/quartermaster"


def connect(
    server: ApiServer,
    folder: Path,
    arguments: tuple[str, ...] = OF_AWS,
    command: str = "aws",
    variables: Mapping[str, str] | None = None,
) -> Connection:
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": command,
        "args": list(arguments),
        "env": [{"name": name, "value": value} for name, value in (variables or {}).items()],
    }
    path = write_kubeconfig(folder / "config", server.url, user={"exec": plugin})
    return Connection.to(str(path), timeouts=ASKING)


def tokens(server: ApiServer) -> list[str]:
    return [each.headers["authorization"] for each in server.asked]


def failure(connection: Connection) -> ClusterError:
    with pytest.raises(ClusterError) as caught:
        connection.send(READ)
    return caught.value


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)


@pytest.fixture
def sts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """moto's STS."""
    served = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    served.start()
    host, port = served.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"http://{host}:{port}")
    yield
    served.stop()


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("aws", OF_AWS),
        ("/usr/local/bin/aws", ("eks", "get-token", f"--cluster-name={CLUSTER}", *OF_AWS[:2])),
        ("aws-iam-authenticator", ("token", "-i", CLUSTER, "--region", REGION)),
    ],
)
def test_a_cluster_accepts_tokens_of_its_command(
    server: ApiServer, tmp_path: Path, command: str, arguments: tuple[str, ...]
) -> None:
    server.on("GET", "/x", guarded(lambda said: fault_of(presigned(said)), "in"))
    connection = connect(server, tmp_path, arguments, command)
    assert connection.send(READ).body == b'"in"'
    assert connection.login().means == (
        f"a token for EKS cluster {CLUSTER}, by the bot's own AWS identity"
    )


@pytest.mark.usefixtures("keys")
def test_a_temporary_key_signs_with_its_session(
    server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of-a-session")
    judge = guarded(lambda said: fault_of(presigned(said), "of-a-session"), "in")
    server.on("GET", "/x", judge)
    assert connect(server, tmp_path).send(READ).body == b'"in"'


@pytest.mark.usefixtures("keys")
def test_another_clusters_server_refuses_the_token(server: ApiServer, tmp_path: Path) -> None:
    server.on("GET", "/x", guarded(lambda said: fault_of(presigned(said)), "in"))
    arguments = ("--region", REGION, "eks", "get-token", "--cluster-name", "another")
    error = failure(connect(server, tmp_path, arguments))
    assert error.message == "Reading x: 401 Unauthorized: signature."
    assert error.hint == (
        "The cluster does not accept a token for EKS cluster another, by the bot's own AWS"
        " identity; `quartermaster doctor` says what to do."
    )
    assert server.count("/x") == 2  # renewed once


@pytest.mark.usefixtures("keys")
def test_one_token_serves_requests_until_refused(server: ApiServer, tmp_path: Path) -> None:
    no = answer(401, status(401, "Unauthorized", "expired"))
    server.on("GET", "/x", answer(200, "in"), answer(200, "in"), no, answer(200, "in"))
    connection = connect(server, tmp_path)
    for _ in range(3):
        assert connection.send(READ).body == b'"in"'
    first, second, third, _ = tokens(server)
    assert first == second == third
    assert server.count("/x") == 4


@pytest.mark.usefixtures("keys", "sts")
def test_a_role_is_assumed_before_signing(server: ApiServer, tmp_path: Path) -> None:
    server.on("GET", "/x", answer(200, "in"))
    connection = connect(server, tmp_path, (*OF_AWS, "--role-arn", ROLE))
    connection.send(READ)
    assert caller(presigned(tokens(server)[0])) == (
        "arn:aws:sts::111122223333:assumed-role/quartermaster/EKSGetTokenAuth"
    )
    login = connection.login()
    assert login.means == f"a token for EKS cluster {CLUSTER}, by IAM role {ROLE}"
    assert login.principal is not None
    assert login.principal() == ROLE


@pytest.mark.usefixtures("sts")
def test_the_role_of_a_service_account_signs(
    server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    word = tmp_path / "service-account-token"
    word.write_text("of-the-pod")
    monkeypatch.setenv("AWS_ROLE_ARN", ROLE)
    monkeypatch.setenv("AWS_ROLE_SESSION_NAME", "bot")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(word))
    server.on("GET", "/x", answer(200, "in"))
    connect(server, tmp_path).send(READ)
    assert caller(presigned(tokens(server)[0])) == (
        "arn:aws:sts::111122223333:assumed-role/quartermaster/bot"
    )


def test_a_profile_is_read_from_its_file(server: ApiServer, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"[ml]\naws_access_key_id={ACCESS_KEY}\naws_secret_access_key={SECRET_KEY}\n")
    server.on("GET", "/x", guarded(lambda said: fault_of(presigned(said)), "in"))
    variables = {"AWS_PROFILE": "ml", "AWS_SHARED_CREDENTIALS_FILE": str(file)}
    connection = connect(server, tmp_path, variables=variables)
    assert connection.send(READ).body == b'"in"'
    assert connection.login().means.endswith(", by AWS profile ml")


def test_a_missing_aws_identity_is_said(server: ApiServer, tmp_path: Path) -> None:
    error = failure(connect(server, tmp_path))
    assert error.message == (
        f"Logging in to EKS cluster {CLUSTER} by the bot's own AWS identity: Unable to locate"
        " credentials."
    )
    assert error.hint == (
        "Give the bot's service account an IAM role: aws eks create-pod-identity-association"
        " --cluster-name CLUSTER_OF_THE_BOT --namespace quartermaster --service-account"
        " quartermaster --role-arn ROLE_ARN (see EKS in deploy/README.md)."
    )
    assert (error.reason, server.asked) == ("Credentials", [])


def test_an_unreadable_identity_token_is_said(
    server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ROLE_ARN", ROLE)
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "gone"))
    error = failure(connect(server, tmp_path))
    assert error.message == (
        f"Logging in to EKS cluster {CLUSTER} by the bot's own AWS identity: [Errno 2] No such file"
        f" or directory: '{tmp_path}/gone'."
    )
    assert error.hint.startswith("Check the bot's AWS identity, and that it reaches STS")


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        (
            ("--profile", "gone", *OF_AWS),
            "by AWS profile gone: The config profile (gone) could not be found.",
            "Take --profile out of the kubeconfig, ",
        ),
        (
            OF_AWS[2:],
            "by the bot's own AWS identity: You must specify a region.",
            "Add --region to the arguments in the kubeconfig, such as --region eu-central-1.",
        ),
        (
            (*OF_AWS, "--role-arn", ROLE),
            f'by IAM role {ROLE}: Could not connect to the endpoint URL: "http://127.0.0.1:9/".',
            "Check the bot's AWS identity, and that it reaches STS on port 443 ",
        ),
    ],
)
def test_wrong_commands_of_eks_are_explained(
    server: ApiServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    said: str,
    hint: str,
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:9")
    error = failure(connect(server, tmp_path, arguments))
    assert error.message == f"Logging in to EKS cluster {CLUSTER} {said}"
    assert error.hint.startswith(hint)


def test_unknown_arguments_of_aws_need_the_program(server: ApiServer, tmp_path: Path) -> None:
    error = failure(connect(server, tmp_path, (*OF_AWS, "--no-verify-ssl")))
    assert error.message == ("The kubeconfig needs the program aws, which is not installed here.")
    assert error.hint == (
        "The bot makes tokens for EKS itself, but not with all these arguments. It knows"
        " --cluster-name, --region, --role-arn and --profile: aws eks update-kubeconfig writes"
        " such a kubeconfig."
    )
