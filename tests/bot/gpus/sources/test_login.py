"""Who asks a Prometheus: by token, password, certificate, and as clouds want it."""

import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.config import BasicLogin, ClientCertificate, ClusterSettings, PrometheusSettings, SigV4
from bot.errors import MetricsError
from bot.gpus.sources.choice import Sources
from tests.bot.gpus.rig import ACTIVE
from tests.bot.gpus.sources.gate import (
    ACCESS_KEY,
    IDENTITY_HEADER,
    SECRET_KEY,
    Gate,
    gate_before,
    is_signed,
)
from tests.bot.ground import START
from tests.cluster.certificates import make_authority, make_certificate
from tests.prometheus import Scraped, prometheus

WORD = "a-word-of-twenty-signs"
# Of that word, by bcrypt with the least cost.
HASH = "$2b$04$abcdefghijklmnopqrstuu28.k1f.qph9MN/OLdBO0jjcSAcOpef2"
KNOWS = "Prometheus reports 1 used by pods; minutes while the bot is down stay unknown:"
KNOWS += " no kube-state-metrics"


def scraped() -> Scraped:
    found = Scraped()
    labels = {"namespace": "team-a", "pod": "lane-x", "gpu": "0"}
    found.add(ACTIVE, labels, (START, START.replace(hour=START.hour + 1)), 1)
    return found


def check(settings: PrometheusSettings, sources: Sources | None = None) -> str:
    source = (sources or Sources()).open("default", ClusterSettings(prometheus=settings))
    assert source is not None
    with closing(source):
        return source.check(START)


def refusal(settings: PrometheusSettings) -> tuple[str, str]:
    with pytest.raises(MetricsError) as failed:
        check(settings)
    assert WORD not in str(failed.value.__cause__)
    return failed.value.message, failed.value.hint


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with prometheus(tmp_path, scraped()) as url, gate_before(url) as found:
        yield found


def test_a_password_opens_a_real_prometheus(tmp_path: Path) -> None:
    (tmp_path / "web.yml").write_text(f"basic_auth_users:\n  bot: {HASH}\n")
    password = tmp_path / "password"
    password.write_text(f"{WORD}\n")
    with prometheus(tmp_path, scraped(), f"--web.config.file={tmp_path}/web.yml") as url:
        basic = BasicLogin(username="bot", password_file=str(password))
        assert check(PrometheusSettings(url=url, basic=basic)) == KNOWS
        another = BasicLogin(username="another", password_file=str(password))
        assert refusal(PrometheusSettings(url=url, basic=another)) == (
            "The Prometheus of default denied access: 401.",
            "Check prometheus.basic.",
        )
        password.write_text("one\ntwo\n")
        assert refusal(PrometheusSettings(url=url, basic=basic)) == (
            "The Prometheus of default: the password must be a single line.",
            "Check prometheus.basic.password_file.",
        )


TLS = """
tls_server_config:
  cert_file: {0}/server.crt
  key_file: {0}/server.key
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: {0}/clients.crt
"""


def test_a_certificate_opens_a_real_prometheus(tmp_path: Path) -> None:
    for name in ("servers", "clients"):
        make_authority(tmp_path, name)
    make_certificate(tmp_path, "server", "servers", "subjectAltName=IP:127.0.0.1")
    make_certificate(tmp_path, "bot", "clients")
    (tmp_path / "web.yml").write_text(TLS.format(tmp_path))
    both = tmp_path / "both.pem"
    both.write_text((tmp_path / "bot.crt").read_text() + (tmp_path / "bot.key").read_text())
    shown = ClientCertificate(certificate_file=str(both))
    ca_file = str(tmp_path / "servers.crt")
    options = f"--web.config.file={tmp_path}/web.yml"
    with prometheus(tmp_path, scraped(), options, tls=True) as url:
        known = PrometheusSettings(url=url, client_certificate=shown, ca_file=ca_file)
        assert check(known) == KNOWS
        for stranger in (
            PrometheusSettings(url=url, ca_file=ca_file),
            PrometheusSettings(url=url, client_certificate=shown),
        ):
            message, hint = refusal(stranger)
            assert message.startswith("The Prometheus of default does not respond: ")
            assert hint == "Check prometheus.ca_file and prometheus.client_certificate."
        encrypt = "openssl pkcs8 -topk8 -in bot.key -out locked.key -passout pass:word"
        subprocess.run(encrypt.split(), cwd=tmp_path, check=True, capture_output=True)
        locked = shown.model_copy(update={"key_file": str(tmp_path / "locked.key")})
        asked = known.model_copy(update={"client_certificate": locked})
        assert refusal(asked)[0] == "The Prometheus of default does not respond: SSLError."
        both.unlink()
        assert refusal(known) == (
            f"The Prometheus of default: {both} cannot be read: No such file or directory.",
            "Check prometheus.ca_file and .client_certificate.",
        )


def test_azure_lets_in_by_a_token(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    gate.guard = gate.knows_token
    for key in ("AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_CLIENT_SECRET"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("IDENTITY_ENDPOINT", f"{gate.url}/identity/token")
    monkeypatch.setenv("IDENTITY_HEADER", IDENTITY_HEADER)
    settings, sources = PrometheusSettings(url=gate.url, entra=True), Sources()
    assert [check(settings, sources) for _ in range(2)] == [KNOWS, KNOWS]
    assert len(gate.tokens) == 1
    gate.tokens.clear()
    with pytest.raises(MetricsError) as refused:
        check(settings, sources)
    assert refused.value.message == "The Prometheus of default denied access: 403."
    assert refused.value.hint == "Check the role of the bot's Azure identity (see docs/gpus.md)."
    monkeypatch.setenv("IDENTITY_HEADER", "another")
    assert refusal(settings)[0] == "The bot has no working Azure identity."


def test_amazon_lets_in_by_a_signature(gate: Gate, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.mkdir()
    (keys / "access-key-id").write_text(ACCESS_KEY)
    (keys / "secret-access-key").write_text(f"{SECRET_KEY}\n")
    sigv4 = SigV4(region="eu-central-1", credentials=str(keys))
    settings = PrometheusSettings(url=f"{gate.url}/workspaces/ws-1", sigv4=sigv4)
    gate.guard = is_signed("eu-central-1")
    # The gate has no such path behind it, which is said by Prometheus itself.
    assert refusal(settings)[0] == "The Prometheus of default returned 404: Not Found."
    plain = PrometheusSettings(url=gate.url, sigv4=sigv4)
    assert check(plain) == KNOWS
    (keys / "session-token").write_text("of-a-session")
    assert refusal(plain) == (
        "The Prometheus of default denied access: 403.",
        "Check the bot's AWS permissions (see docs/gpus.md).",
    )
    gate.guard = is_signed("eu-central-1", "of-a-session")
    assert check(plain) == KNOWS
    gate.guard = is_signed("us-east-1", "of-a-session")
    assert refusal(plain)[0] == "The Prometheus of default denied access: 403."


def test_keys_that_are_missing_are_said(gate: Gate, tmp_path: Path) -> None:
    sigv4 = SigV4(region="eu-central-1", credentials=str(tmp_path / "nowhere"))
    assert refusal(PrometheusSettings(url=gate.url, sigv4=sigv4)) == (
        "The keys of AWS cannot be read: No such file or directory.",
        (
            "prometheus.sigv4.credentials must name a folder with the files access-key-id and"
            " secret-access-key."
        ),
    )
    assert gate.asked == []


def test_who_asks_too_much_is_told_when(gate: Gate) -> None:
    gate.busy = 1
    with pytest.raises(MetricsError) as failed:
        check(PrometheusSettings(url=gate.url))
    assert failed.value.message == "The Prometheus of default returned 429: Too many requests."
    assert failed.value.retry_after_seconds == 90


def test_a_token_is_read_anew_each_time(gate: Gate, tmp_path: Path) -> None:
    token = tmp_path / "token"
    settings = PrometheusSettings(url=gate.url, token_file=str(token))
    gate.guard = lambda headers, _url, _body: headers.get("Authorization") == f"Bearer {WORD}"
    assert refusal(settings) == (
        "The Prometheus of default: the token cannot be read: No such file or directory.",
        "Check prometheus.token_file.",
    )
    token.write_text("another")
    assert refusal(settings) == (
        "The Prometheus of default denied access: 403.",
        "Check prometheus.token_file.",
    )
    token.write_text(f"{WORD}\n")
    assert check(settings) == KNOWS


@pytest.mark.parametrize("more", ["\nsecond", "\u20ac", "\0"])
def test_what_is_no_token_is_not_shown(tmp_path: Path, more: str) -> None:
    token = tmp_path / "token"
    token.write_text(f"{WORD}{more}")
    settings = PrometheusSettings(url="http://127.0.0.1:9", token_file=str(token))
    assert refusal(settings)[0] == (
        "The Prometheus of default: the token must be one word of printable ASCII characters."
    )


def test_a_server_that_is_away_is_said() -> None:
    assert refusal(PrometheusSettings(url="http://127.0.0.1:9")) == (
        "The Prometheus of default does not respond: NewConnectionError.",
        "Check prometheus.url and whether the bot can reach it. Retrying.",
    )


def test_kubernetes_alone_has_no_source() -> None:
    assert Sources().open("default", ClusterSettings()) is None
