"""`quartermaster support-bundle`: what is in it, and what is not."""

import json
import stat
import tarfile
from pathlib import Path

from tests.bot.terminal import Terminal

LOG = """\
{"person": "U0ALICE", "event": "refused"}
{"event": "answered", "url": "postgresql://bot:hunter2@db/qm", "channel": "C0TEAMA"}
{"person": "U0ALICE", "token": "xoxb-1234567890-abcdefghij"}
"""


def read(path: Path) -> dict[str, str]:
    """The files of a bundle by their names."""
    found = {}
    with tarfile.open(path) as tar:
        for entry in tar.getmembers():
            file = tar.extractfile(entry)
            assert file is not None
            found[entry.name.removeprefix("quartermaster-support/")] = file.read().decode()
    return found


def test_a_bundle_has_all_but_secrets(terminal: Terminal) -> None:
    terminal.environment |= {"SLACK_BOT_TOKEN": "xoxb-12345678-s3cret", "SLACK_APP_TOKEN": "xapp-1"}
    terminal.environment["SLACK_API_URL"] = "http://127.0.0.1:9/api/"
    (terminal.folder / "bot.log").write_text(LOG)
    terminal.run("migrate")
    code, out, error = terminal.run("support-bundle", "--log", "bot.log")
    assert (code, error) == (0, "")
    assert out == "Wrote quartermaster-support.tar.gz. Read it before you share it.\n"
    path = terminal.folder / "quartermaster-support.tar.gz"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    files = read(path)
    assert list(files) == [
        "about.json",
        "quartermaster.yaml",
        "doctor.json",
        "database.json",
        "readyz.json",
        "healthz.json",
        "metrics.txt",
        "log.txt",
    ]
    whole = "".join(files.values())
    for secret in ("s3cret", "hunter2", "abcdefghij", "U0ALICE", "C0TEAMA", "U0CAROL"):
        assert secret not in whole, secret
    assert "members: {people: [U-2]}" in files["quartermaster.yaml"]
    assert files["log.txt"].splitlines()[0] == '{"person": "U-2", "event": "refused"}'
    assert json.loads(files["database.json"])["rows"]["runs"] == 0
    assert files["metrics.txt"].startswith("http://127.0.0.1:8080/metrics did not answer: ")
    about = {each["about"]: each["state"] for each in json.loads(files["doctor.json"])}
    assert (about["database"], about["slack"]) == ("ok", "failed")


def test_a_bundle_of_a_broken_installation_says_why(terminal: Terminal) -> None:
    code, _, error = terminal.run("support-bundle", "--with-ids")
    assert (code, error) == (0, "")
    files = read(terminal.folder / "quartermaster-support.tar.gz")
    assert "U0ALICE" in files["quartermaster.yaml"]
    about = {each["about"]: each for each in json.loads(files["doctor.json"])}
    assert about["database"]["remedy"] == "Run `quartermaster migrate`."
    assert files["database.json"] == (
        "The database schema is older than this server. Run `quartermaster migrate`.\n"
    )


def test_a_bundle_never_replaces_a_file(terminal: Terminal) -> None:
    (terminal.folder / "mine.tar.gz").write_text("mine")
    code, _, error = terminal.run("support-bundle", "--out", "mine.tar.gz")
    assert (code, error.splitlines()) == (
        2,
        ["quartermaster: mine.tar.gz exists.", "Name another file: --out FILE."],
    )
    assert (terminal.folder / "mine.tar.gz").read_text() == "mine"
    code, _, error = terminal.run("support-bundle", "--log", "missing.log")
    assert error == "quartermaster: missing.log cannot be read: No such file or directory.\n"
    assert not (terminal.folder / "quartermaster-support.tar.gz").exists()
