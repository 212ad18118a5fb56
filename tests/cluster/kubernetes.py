"""How etcd and Kubernetes' own programs are started on loopback."""

import secrets
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from tests.cluster.certificates import make_authority, make_certificate, make_key

# Everybody here may do everything; the audit log tells of the first alone, and of all others.
USERS = (
    "admin",
    "kube-controller-manager",
    "kube-scheduler",
    "kueue",
    "kwok",
    "nodes",
    "operators",
)
_AUDIT: Mapping[str, object] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [{"level": "None", "users": list(USERS[1:])}, {"level": "Metadata"}],
}
# The API server's Service, by which pods reach it.
_SERVICE, _NAMES = "10.96.0.1", "DNS:kubernetes.default.svc,DNS:kubernetes.default"
_OPENER = ("--kubeconfig={}.kubeconfig", "--leader-elect=false", "--secure-port=0")


def write_files(folder: Path, url: str) -> None:
    """Writes certificates, tokens, kubeconfigs and the audit policy."""
    make_authority(folder, "ca")
    address = urlsplit(url).hostname
    names = f"subjectAltName=IP:127.0.0.1,DNS:localhost,IP:{address},IP:{_SERVICE},{_NAMES}"
    make_certificate(folder, "server", "ca", names)
    make_authority(folder, "front")
    make_certificate(folder, "front-proxy", "front", "extendedKeyUsage=clientAuth")
    make_key(folder, "accounts")
    tokens = []
    for user in USERS:
        token = secrets.token_hex(16)
        tokens.append(f"{token},{user},{user},system:masters\n")
        write_kubeconfig(folder / f"{user}.kubeconfig", url, token)
    (folder / "tokens.csv").write_text("".join(tokens))
    (folder / "audit.yaml").write_text(yaml.safe_dump(dict(_AUDIT)))


def write_kubeconfig(path: Path, url: str, token: str) -> None:
    """Writes a kubeconfig for one token, beside the authority's certificate."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "tests",
        "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "tests"}}],
        "clusters": [
            {
                "name": "tests",
                "cluster": {"server": url, "certificate-authority": str(path.parent / "ca.crt")},
            }
        ],
        "users": [{"name": "tests", "user": {"token": token}}],
    }
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(document), encoding="utf-8")


def etcd(client_port: int, peer_port: int) -> list[str]:
    """The arguments of etcd; it need not survive the machine, so it does not sync its disk."""
    client, peer = f"http://127.0.0.1:{client_port}", f"http://127.0.0.1:{peer_port}"
    return [
        "--data-dir=etcd",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def api_server(address: str, port: int, etcd_port: int) -> list[str]:
    """The arguments of kube-apiserver: RBAC, the audit log, and the aggregator for visibility.

    The address is loopback, which no pod reaches, so that the one advertised is of documentation;
    or one that nodes reach, and then the Service `kubernetes` leads pods there.
    """
    return [
        *_reached(address),
        f"--etcd-servers=http://127.0.0.1:{etcd_port}",
        f"--bind-address={address}",
        f"--secure-port={port}",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--tls-cert-file=server.crt",
        "--tls-private-key-file=server.key",
        "--token-auth-file=tokens.csv",
        "--authorization-mode=RBAC",
        "--allow-privileged=true",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-account-key-file=accounts.pub",
        "--service-account-signing-key-file=accounts.key",
        "--requestheader-client-ca-file=front.crt",
        "--requestheader-allowed-names=front-proxy",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--proxy-client-cert-file=front-proxy.crt",
        "--proxy-client-key-file=front-proxy.key",
        "--audit-policy-file=audit.yaml",
        "--audit-log-path=audit.log",
        "--audit-log-mode=blocking",
        "--profiling=false",
    ]


def _reached(address: str) -> list[str]:
    """How pods reach the API server, and how it reaches their kubelets."""
    if ip_address(address).is_loopback:
        return ["--advertise-address=192.0.2.1", "--endpoint-reconciler-type=none"]
    return [
        f"--advertise-address={address}",
        "--kubelet-client-certificate=front-proxy.crt",
        "--kubelet-client-key=front-proxy.key",
        "--kubelet-preferred-address-types=InternalIP",
    ]


def controller_manager() -> list[str]:
    """The arguments of kube-controller-manager."""
    return [
        *(each.format("kube-controller-manager") for each in _OPENER),
        "--service-account-private-key-file=accounts.key",
        "--root-ca-file=ca.crt",
        "--concurrent-job-syncs=5",
        "--concurrent-namespace-syncs=10",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    ]


def scheduler() -> list[str]:
    """The arguments of kube-scheduler."""
    return [each.format("kube-scheduler") for each in _OPENER]
