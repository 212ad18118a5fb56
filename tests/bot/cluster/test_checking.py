"""The doctor names who the bot is in a cluster, and how to mend it."""

from dataclasses import replace
from pathlib import Path

import pytest

from bot.cluster.api.connection import Connection
from bot.cluster.checking import identity_finding, subject_of
from bot.cluster.cluster import SUBJECT_REVIEWS, Cluster
from bot.findings import Finding
from tests.bot.cluster.api.api_server import ApiServer, answer, status, write_kubeconfig
from tests.bot.cluster.conftest import PATIENT

ABOUT = "cluster train identity"
EKS = {
    "apiVersion": "client.authentication.k8s.io/v1beta1",
    "command": "aws",
    "args": ["--region", "eu-central-1", "eks", "get-token", "--cluster-name", "ml"],
}


def cluster_of(server: ApiServer, folder: Path, user: dict[str, object]) -> Cluster:
    path = write_kubeconfig(folder / "config", server.url, user=user)
    timeouts = replace(PATIENT, headers_kept=0.0)
    return Cluster("train", Connection.to(str(path), timeouts=timeouts), "doctor")


def known_as(server: ApiServer, name: str, *groups: str) -> None:
    said = {"status": {"userInfo": {"username": name, "groups": list(groups)}}}
    server.on("POST", SUBJECT_REVIEWS, answer(201, said))


@pytest.fixture
def cluster(server: ApiServer, tmp_path: Path) -> Cluster:
    return cluster_of(server, tmp_path, {"token": "t"})


def test_the_doctor_names_the_user(server: ApiServer, cluster: Cluster) -> None:
    known_as(server, "system:serviceaccount:quartermaster:quartermaster", "system:authenticated")
    assert identity_finding(cluster, ABOUT) == Finding(
        ABOUT,
        "ok",
        "the bot is system:serviceaccount:quartermaster:quartermaster, by the token of user me in"
        " the kubeconfig",
    )
    assert subject_of(cluster) == ""
    assert server.asked[0].json == {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "SelfSubjectReview",
    }


@pytest.mark.parametrize(
    ("name", "subject"),
    [
        ("00000000-cccc", "subjects: [{kind: User, name: 00000000-cccc}]"),
        (
            "arn:aws:sts::111122223333:assumed-role/bot/session",
            "subjects: [{kind: Group, name: quartermaster}]",
        ),
    ],
)
def test_rights_go_to_users_of_clouds(
    server: ApiServer, cluster: Cluster, name: str, subject: str
) -> None:
    known_as(server, name, "all-programs", "system:authenticated")
    assert subject_of(cluster) == subject


def test_a_refused_token_has_a_remedy(server: ApiServer, cluster: Cluster) -> None:
    server.on("POST", SUBJECT_REVIEWS, answer(401, status(401, "Unauthorized", "Unauthorized")))
    assert identity_finding(cluster, ABOUT) == Finding(
        ABOUT,
        "failed",
        "the API server does not accept the token of user me in the kubeconfig",
        "Put the token of the bot's service account in that cluster into the kubeconfig: see"
        " Several clusters in deploy/README.md.",
    )


def test_a_refused_role_gets_an_access_entry(
    server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret-of-twenty-four-signs")
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"{server.url}/sts")
    xml = (
        b'<R xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult><Arn>'
        b"arn:aws:sts::111122223333:assumed-role/bot/session</Arn></GetCallerIdentityResult></R>"
    )
    server.on("POST", "/sts", answer(200, xml))
    server.on("POST", SUBJECT_REVIEWS, answer(401, status(401, "Unauthorized", "Unauthorized")))
    found = identity_finding(cluster_of(server, tmp_path, {"exec": EKS}), ABOUT)
    assert (found.state, found.says) == (
        "failed",
        "the API server does not accept a token for EKS cluster ml, by the bot's own AWS identity",
    )
    assert found.remedy == (
        "aws eks create-access-entry --cluster-name ml --region eu-central-1 --principal-arn"
        " arn:aws:iam::111122223333:role/bot --kubernetes-groups quartermaster"
    )


def test_a_kubeconfig_without_credentials_fails(server: ApiServer, tmp_path: Path) -> None:
    said = 'selfsubjectreviews is forbidden: User "system:anonymous" cannot create resource'
    server.on("POST", SUBJECT_REVIEWS, answer(403, status(403, "Forbidden", said)))
    found = identity_finding(cluster_of(server, tmp_path, {}), ABOUT)
    assert (found.state, found.says) == (
        "failed",
        "the API server does not accept requests without credentials",
    )


def test_a_server_that_does_not_say_is_borne(cluster: Cluster) -> None:
    assert identity_finding(cluster, ABOUT) == Finding(
        ABOUT,
        "ok",
        "the bot logs in by the token of user me in the kubeconfig; the API server does not say as"
        " whom",
    )
