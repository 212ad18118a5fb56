"""Only a browser on this machine that knows the address may ask."""

from pathlib import Path

import pytest

from tests.playground.page.shown import Shown, shown


def test_page_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    async def play(page: Shown) -> None:
        answer = await page.client.get("")
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["content-security-policy"] == (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
            "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        for line in answer.text.splitlines():
            assert "://" not in line
            assert "onclick" not in line

    shown(tmp_path, play)


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "playground.example.com"},
        {"host": "127.0.0.1.example.com:80"},
        {"host": ""},
        {"origin": "https://example.com"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "null"},
    ],
    ids=str,
)
def test_other_hosts_and_origins_are_refused(tmp_path: Path, headers: dict[str, str]) -> None:
    async def play(page: Shown) -> None:
        body = {"as": "U0ALICE", "channel": "C0TEAMA", "text": "hello"}
        for asked in (
            await page.client.get("", headers=headers),
            await page.client.get("events?as=U0ALICE", headers=headers),
            await page.client.post("acts/write", json=body, headers=headers),
            await page.client.post("world/bot", json={"do": "kill"}, headers=headers),
        ):
            assert asked.status_code == 403
        assert page.world.slack.channels["C0TEAMA"].messages == []

    shown(tmp_path, play)


def test_address_without_its_secret_is_refused(tmp_path: Path) -> None:
    async def play(page: Shown) -> None:
        base = str(page.client.base_url)
        root = base.removesuffix("/").rpartition("/")[0]
        words = "The address is not complete: use the one that the playground printed.\n"
        for wrong in (f"{root}/", f"{root}/events?as=U0ALICE", f"{base[:-2]}/", f"{root}/ä/"):
            answer = await page.client.get(wrong)
            assert (answer.status_code, answer.text) == (404, words)
        body = {"as": "U0ALICE", "channel": "C0TEAMA", "text": "hello"}
        assert (await page.client.post(f"{root}/acts/write", json=body)).status_code == 404

    shown(tmp_path, play)


def test_own_origin_by_either_name_may(tmp_path: Path) -> None:
    async def play(page: Shown) -> None:
        port = page.client.base_url.port
        body = {"as": "U0ALICE", "channel": "C0TEAMA", "text": "hello"}
        for name in ("127.0.0.1", "localhost"):
            headers = {"host": f"{name}:{port}", "origin": f"http://{name}:{port}"}
            answer = await page.client.post("acts/write", json=body, headers=headers)
            assert answer.status_code == 200
        assert [m.text for m in page.world.slack.channels["C0TEAMA"].messages] == ["hello"] * 2

    shown(tmp_path, play)


def test_files_outside_the_page_are_hidden(tmp_path: Path) -> None:
    async def play(page: Shown) -> None:
        for path in ("../app.py", "%2e%2e/app.py", "static/main.js", "main.js.map", "files/F1"):
            assert (await page.client.get(path)).status_code == 404
        for path, kind in (("main.js", "text/javascript"), ("style.css", "text/css")):
            answer = await page.client.get(path)
            assert answer.headers["content-type"] == f"{kind}; charset=utf-8"
            assert answer.headers["x-content-type-options"] == "nosniff"

    shown(tmp_path, play)
