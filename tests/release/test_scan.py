"""The scan finds known vulnerabilities of the lock, and says when nobody could be asked."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bot.cluster.api.api_server import ApiServer, Asked, Wire, answer, serving

ROOT = Path(__file__).parents[2]
JSON = {"Content-Type": "application/json"}
FOUND = {
    "id": "GHSA-xxxx-yyyy-zzzz",
    "modified": "2026-01-01T00:00:00Z",
    "summary": "Headers are sent to strangers",
    "affected": [
        {
            "package": {"name": "urllib3", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "99.0"}]}],
        }
    ],
}


def scan(url: str, *arguments: str) -> tuple[int, str]:
    uv = ROOT / ".venv-tools" / "bin" / "uv"
    if not uv.exists() and shutil.which("uv") is None:
        pytest.skip("uv is not here; `make setup` installs it")
    environment = {**os.environ, "OSV_URL": url, "UV_HTTP_RETRIES": "0"}  # noqa: TID251  # of a child
    done = subprocess.run(
        ["sh", "scripts/scan.sh", *arguments],  # noqa: S607  # the system's shell
        cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False, timeout=120,
    )  # fmt: skip
    return done.returncode, done.stdout


def osv(server: ApiServer, *names: str) -> None:
    """Has the server know a vulnerability of the packages of these names."""

    def batch(asked: Asked, wire: Wire) -> None:
        hit = {"vulns": [{"id": FOUND["id"], "modified": FOUND["modified"]}]}
        queries = asked.json["queries"]
        assert all(each["package"]["ecosystem"] == "PyPI" and each["version"] for each in queries)
        results = [hit if each["package"]["name"] in names else {} for each in queries]
        wire.send(200, {"results": results}, JSON)

    server.on("POST", "/v1/querybatch", batch)
    server.on("GET", f"/v1/vulns/{FOUND['id']}", answer(200, FOUND, JSON))


def asked_for(server: ApiServer) -> set[str]:
    return {
        each["package"]["name"]
        for asked in server.requests("/v1/querybatch")
        for each in asked.json["queries"]
    }


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with serving() as found:
        yield found


def test_a_lock_without_vulnerabilities_passes(server: ApiServer) -> None:
    osv(server)
    code, said = scan(f"{server.url}/")
    assert code == 0, said
    asked = asked_for(server)
    assert {"slack-bolt", "boto3", "cryptography"} <= asked
    assert not {"pytest", "moto", "playwright"} & asked


def test_a_known_vulnerability_fails_the_scan(server: ApiServer) -> None:
    osv(server, "urllib3")
    code, said = scan(f"{server.url}/")
    assert code == 1
    assert "GHSA-xxxx-yyyy-zzzz: Headers are sent to strangers" in said
    assert "Update these packages: uv lock --upgrade-package NAME." in said
    assert scan(f"{server.url}/", "--ignore", "GHSA-xxxx-yyyy-zzzz")[0] == 0


def test_an_unanswered_scan_is_no_success(server: ApiServer) -> None:
    code, said = scan("http://127.0.0.1:9/")
    assert code == 2
    assert said.endswith("Not scanned: OSV could not be asked.\n")
    server.on("POST", "/v1/querybatch", answer(503, {}, JSON))
    assert scan(f"{server.url}/")[0] == 2
