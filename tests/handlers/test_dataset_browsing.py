"""/dataset ls and head: what is acknowledged, read, allowed and recorded."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from sqlmodel import col, select
from structlog.testing import capture_logs

from bot.audit import AuditLine
from bot.database.database import Session
from bot.datasets.browsing.paging import PageRequest, page_buttons, read
from bot.datasets.manifest import Entry, ManifestWriter, write_index
from bot.datasets.tables import Version, VersionPhase
from bot.slack.card import Button
from bot.slack.text import as_text
from tests.handlers.command_client import (
    ALICE,
    BOB,
    CAROL,
    DAN,
    TEAM_A,
    TEAM_B,
    CommandClient,
    opened,
)
from tests.object_stores import Lake
from tests.playground.cluster.served import Served

SETTINGS = """\
stores:
  lake:
    endpoint: ENDPOINT
    path_style: true
    credentials: KEYS
    places: {team-a: [s3://BUCKET/set/]}
datasets:
  namespace: datasets
  image: ghcr.io/acme/quartermaster:0.1.0
  state: s3://qm-state/prod
  state_store: lake
"""
LABELS = b"image,finding\n0.png,none\n"
FILES = {"labels.csv": LABELS, "train/0.png": b"\x89PNG\r\n\x1a\n"}
MANY = {f"my set/{number:03}": b"a" for number in range(90)}


class Browser:
    """A bot with a recorded version of a dataset that is in a real store."""

    def __init__(self, client: CommandClient, lake: Lake, bucket: str) -> None:
        self.client = client
        self.lake = lake
        self.bucket = bucket

    def record(self, files: Mapping[str, bytes], readers: str) -> None:
        """A version of these files."""
        self.lake.put(self.bucket, files)
        added = f"/dataset add chest-xray s3://{self.bucket}/set/ {readers}"
        self.client.says(ALICE, TEAM_A, added)
        self.client.says(ALICE, TEAM_A, "/dataset version chest-xray")

        def put(name: str, content: bytes) -> None:
            self.lake.client.put_object(Bucket=self.bucket, Key=f"m/{name}", Body=content)

        writer = ManifestWriter(put)
        for key in sorted(files):
            found = self.lake.client.head_object(Bucket=self.bucket, Key=f"set/{key}")
            writer.add(Entry(key, len(files[key]), found["ETag"].strip('"')))
        index = writer.close(f"s3://{self.bucket}/set/")
        write_index(put, index)

        def work(session: Session) -> None:
            row = session.exec(select(Version)).one()
            row.phase, row.ended_at, row.digest = VersionPhase.READY, row.asked_at, index.digest
            row.objects, row.size_bytes = index.objects, index.bytes
            row.manifest = f"s3://{self.bucket}/m/"
            session.add(row)

        self.client.application.database.transaction(work)

    def asks(self, text: str, person: str = ALICE, channel: str = TEAM_A) -> tuple[str, str]:
        """The acknowledgement, and the answer that follows it."""
        name, _, words = text.removeprefix("/").partition(" ")
        incoming = self.client.incoming(person, channel, command=name, words=words)
        reply = self.client.application.dispatcher.answer(incoming)
        assert reply is not None
        assert not reply.for_all
        later = as_text(reply.later()) if reply.later is not None else ""
        return as_text(reply), later

    def clicks(self, button: Button, person: str = ALICE, channel: str = TEAM_A) -> str:
        """The answer that follows a click, or else the acknowledgement."""
        what = {"kind": "button", "command": button.action, "value": button.value}
        incoming = self.client.incoming(person, channel, **what)
        reply = self.client.application.dispatcher.answer(incoming)
        assert reply is not None
        return as_text(reply.later() if reply.later is not None else reply)

    def next_page(self, text: str) -> Button:
        """The button under a listing that has another page."""
        name, _, words = text.removeprefix("/").partition(" ")
        incoming = self.client.incoming(ALICE, TEAM_A, command=name, words=words)
        reply = self.client.application.dispatcher.answer(incoming)
        assert reply is not None
        assert reply.later is not None
        card = reply.later().card
        assert card is not None
        (button,) = card.buttons
        return button

    def audited(self) -> list[tuple[str | None, str, dict[str, str]]]:
        """What the audit has about looking into files."""
        work = select(AuditLine).where(col(AuditLine.verb) == "dataset.head")
        lines = self.client.application.database.read(lambda session: session.exec(work).all())
        return [(each.person, each.subject_kind, each.facts) for each in lines]


@contextmanager
def browsing(
    folder: Path,
    served: Served,
    lake: Lake,
    more: str = "  show_content: true\n",
    readers: str = "",
    files: Mapping[str, bytes] = FILES,
) -> Iterator[Browser]:
    """A bot whose store is real, with a recorded version of two files, or of others."""
    bucket = lake.bucket()
    told = {"ENDPOINT": lake.server.endpoint, "KEYS": str(lake.credentials), "BUCKET": bucket}
    settings = SETTINGS
    for word, value in told.items():
        settings = settings.replace(word, value)
    with opened(folder, f"sqlite:///{folder}/test.db", served, settings + more) as client:
        found = Browser(client, lake, bucket)
        found.record(files, readers)
        yield found


@pytest.fixture
def browser(tmp_path: Path, served: Served, lake: Lake) -> Iterator[Browser]:
    with browsing(tmp_path, served, lake) as found:
        yield found


def test_a_listing_follows_the_acknowledgement(browser: Browser) -> None:
    assert browser.asks("/dataset ls chest-xray") == (
        "Reading the manifest of `chest-xray@v1`…",
        (
            "chest-xray@v1\n"
            "2 files, 33 bytes.\n"
            "  Name        Size      Files\n"
            "  labels.csv  25 bytes\n"
            "  train/      8 bytes   1"
        ),
    )
    assert browser.asks("/dataset ls chest-xray@v1 /train/ --largest")[1].splitlines() == [
        "chest-xray@v1: train/",
        "1 file, 8 bytes.",
        "  Name   Size",
        "  0.png  8 bytes",
    ]
    assert browser.asks("/dataset ls chest-xray --search 0.png")[1].splitlines()[3] == (
        "  train/0.png  8 bytes"
    )


def test_first_lines_follow_the_acknowledgement(browser: Browser) -> None:
    assert browser.asks("/dataset head chest-xray labels.csv --lines 1") == (
        "Reading `labels.csv` of chest-xray@v1…",
        "chest-xray@v1: labels.csv\nIts first 1 line; it has 25 bytes.\nimage,finding",
    )
    assert browser.asks("/dataset head chest-xray train/0.png")[1].splitlines() == [
        "This file is a PNG image.",
        "Only text is shown. Read it in a run with --data.",
    ]


def test_the_audit_has_the_path_but_no_content(browser: Browser) -> None:
    browser.asks("/dataset ls chest-xray")
    with capture_logs() as logs:
        browser.asks("/dataset head chest-xray labels.csv")
    assert browser.audited() == [
        (ALICE, "dataset-version", {"name": "chest-xray@v1", "path": "labels.csv"})
    ]
    assert "finding" not in str(logs)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            "/dataset ls chest-xray label.csv",
            ["chest-xray@v1 has no file or folder label.csv.", "Did you mean labels.csv?"],
        ),
        (
            "/dataset head chest-xray train",
            ["train/ is a folder of chest-xray@v1.", "Name a file in it."],
        ),
        (
            "/dataset head chest-xray /",
            ["/ is a folder of chest-xray@v1.", "Name a file in it."],
        ),
        ("/dataset ls chest-xray --page 2", ["There is no page 2.", "There is only page 1."]),
    ],
)
def test_wrong_paths_are_explained(browser: Browser, typed: str, said: list[str]) -> None:
    assert browser.asks(typed)[1].splitlines() == said


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            "/dataset ls chest-xray@v2",
            ["chest-xray has no version v2.", "Available: v1."],
        ),
        (
            "/dataset ls chest-xray --page 0",
            [
                "`--page` takes a whole number from 1 to 1000, not `0`.",
                "Write it like `--page 2`. For example `/dataset ls chest-xray`.",
            ],
        ),
        (
            "/dataset head chest-xray labels.csv --lines 101",
            [
                "`--lines` takes a whole number from 1 to 100, not `101`.",
                "Write it like `--lines 2`. For example `/dataset head chest-xray labels.csv`.",
            ],
        ),
        (
            '/dataset head chest-xray "a\x07b"',
            [
                "`PATH` takes a file of the version such as `train/0001.png`, not `a\x07b`.",
                (
                    "Write it like `train/0001.png`. For example `/dataset head chest-xray"
                    " labels.csv`."
                ),
            ],
        ),
    ],
)
def test_wrong_input_is_refused_at_once(browser: Browser, typed: str, said: list[str]) -> None:
    assert browser.asks(typed)[0].splitlines() == said
    assert browser.audited() == []


def test_other_teams_and_guests_see_nothing(browser: Browser) -> None:
    for person, channel in ((BOB, TEAM_B), (DAN, TEAM_A), (BOB, TEAM_A)):
        for verb in ("ls chest-xray", "head chest-xray labels.csv"):
            said, later = browser.asks(f"/dataset {verb}", person, channel)
            assert later == ""
            assert "labels" not in said
    assert browser.audited() == []


def test_readers_of_a_dataset_see_its_files(tmp_path: Path, served: Served, lake: Lake) -> None:
    with browsing(tmp_path, served, lake, readers="--readers team-b") as browser:
        assert "finding" in browser.asks("/dataset head chest-xray labels.csv", BOB, TEAM_B)[1]
        assert [person for person, _, _ in browser.audited()] == [BOB]


def test_content_is_not_shown_unless_allowed(tmp_path: Path, served: Served, lake: Lake) -> None:
    with browsing(tmp_path, served, lake, "") as browser:
        for person in (ALICE, CAROL):
            said = browser.asks("/dataset head chest-xray labels.csv", person)
            assert said == (
                (
                    "The content of files is not shown in Slack.\n"
                    "A platform admin can allow it: `datasets: {show_content: true}`."
                ),
                "",
            )
        shown = browser.asks("/dataset ls chest-xray labels.csv")[1]
        assert "  Size  25 bytes" in shown
        assert "/dataset head" not in shown
        assert browser.audited() == []


def test_content_of_a_lost_place_is_refused(browser: Browser) -> None:
    def work(session: Session) -> None:
        row = session.exec(select(Version)).one()
        row.source = "s3://elsewhere/set/"
        session.add(row)

    browser.client.application.database.transaction(work)
    said, later = browser.asks("/dataset head chest-xray labels.csv")
    assert said.splitlines()[0] == "team-a may not read s3://elsewhere/set/."
    assert later == ""


def test_a_changed_file_is_not_shown(browser: Browser) -> None:
    browser.lake.put(browser.bucket, {"labels.csv": b"image,other\n"})
    assert browser.asks("/dataset head chest-xray labels.csv")[1].splitlines() == [
        "labels.csv changed after the version was recorded.",
        "Record a new version of the dataset.",
    ]


def test_a_lost_manifest_is_named(browser: Browser) -> None:
    browser.lake.client.delete_object(Bucket=browser.bucket, Key="m/index.json")
    where = f"s3://{browser.bucket}/m/index.json"
    for typed in ("ls chest-xray", "head chest-xray labels.csv"):
        assert browser.asks(f"/dataset {typed}")[1].splitlines() == [
            f"Reading {where} from store lake failed: it does not exist (NoSuchKey).",
            "It may have been deleted.",
        ]


def test_a_button_shows_the_next_page(tmp_path: Path, served: Served, lake: Lake) -> None:
    with browsing(tmp_path, served, lake, readers="--readers team-b", files=MANY) as browser:
        button = browser.next_page("/dataset ls chest-xray 'my set'")
        shown = browser.clicks(button).splitlines()
        assert shown[:5] == [
            "chest-xray@v1: my set/",
            "90 files, 90 bytes.",
            "Rows 41 to 80 of 90.",
            "Next: `/dataset ls chest-xray@v1 'my set' --page 3`",
            "  Name  Size",
        ]
        assert browser.clicks(button) == "\n".join(shown)
        refusal = browser.clicks(button, BOB, TEAM_B).splitlines()[0]
        assert refusal == "You are not a member of team-a."
        theirs = replace(button, value=button.value.replace("team-a", "team-b"))
        assert browser.clicks(theirs, BOB, TEAM_B).splitlines()[2] == "Rows 41 to 80 of 90."


def test_a_button_shows_nothing_of_others(tmp_path: Path, served: Served, lake: Lake) -> None:
    with browsing(tmp_path, served, lake, files=MANY) as browser:
        button = browser.next_page("/dataset ls chest-xray 'my set'")
        theirs = replace(button, value=button.value.replace("team-a", "team-b"))
        gone = "This version is no longer in the catalogue."
        assert browser.clicks(theirs, BOB, TEAM_B) == gone
        old = replace(button, value='{"v":"1"}')
        assert browser.clicks(old).splitlines() == [
            "This button is out of date.",
            "Type the command again.",
        ]
        browser.client.says(ALICE, TEAM_A, "/dataset remove chest-xray")
        assert browser.clicks(button) == gone


@pytest.mark.parametrize("path", ["ä" * 400, '"' * 400, "a/" * 100 + "b"])
def test_any_usual_path_fits_into_the_button(path: str) -> None:
    found = page_buttons(PageRequest(version_id="v" * 36, team="team-a", path=path, page=2))
    assert len(found) == 1
    assert read(found[0].value).path == path
