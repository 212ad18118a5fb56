"""/dataset put as people type it, and its grant, which is in a real store and nowhere else."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from sqlmodel import select
from structlog.testing import capture_logs

from bot.database.database import Session
from bot.datasets.tables import Push, PushPhase
from bot.datasets.worker.presigned.messages import read_grant
from bot.slack.text import as_text
from tests.handlers.command_client import ALICE, MIA, TEAM_A, CommandClient, opened
from tests.object_stores import Lake
from tests.playground.cluster.served import Served

SETTINGS = """\
stores:
  lake:
    endpoint: ENDPOINT
    path_style: true
    credentials: KEYS
    places: {team-a: [s3://BUCKET/set/]}
  glacier:
    type: gcs
    places: {team-a: [gs://cold/]}
datasets:
  namespace: datasets
  image: ghcr.io/acme/quartermaster:0.1.0
  state: s3://BUCKET/state
  state_store: lake
"""
SECRET = "5ecre7" * 12
GRANT = (
    '{"target":"s3://lake/set/","listing":"https://lake/a?X-Amz-Signature=%s",'
    '"answer":"https://lake/b?X-Amz-Signature=%s","expires_at":"2026-11-27T12:00:00Z"}'
)


class Putter:
    """A bot with a dataset, and what is in its bucket."""

    def __init__(self, client: CommandClient, lake: Lake, bucket: str) -> None:
        self.client = client
        self.lake = lake
        self.bucket = bucket

    def push(self) -> Push:
        return self.client.application.database.read(lambda s: s.exec(select(Push)).one())

    def waits(self) -> None:
        """Its worker runs and waits for files."""

        def work(session: Session) -> None:
            row = session.exec(select(Push)).one()
            row.phase, row.stage, row.started_at = PushPhase.COPYING, "waiting", row.asked_at
            session.add(row)

        self.client.application.database.transaction(work)

    def grants(self, content: str) -> None:
        """What the worker has written."""
        box = self.push().box.removeprefix(f"s3://{self.bucket}/")
        self.lake.client.put_object(
            Bucket=self.bucket, Key=f"{box}grant.json", Body=content.encode()
        )

    def clicks(self, person: str = ALICE) -> tuple[str, str]:
        """The acknowledgement of *Get the command*, and the answer that follows."""
        what = {"kind": "button", "command": "dataset.put_grant", "value": self.push().id}
        incoming = self.client.incoming(person, TEAM_A, **what)
        reply = self.client.application.dispatcher.answer(incoming)
        assert reply is not None
        assert not reply.for_all
        return as_text(reply), as_text(reply.later()) if reply.later is not None else ""

    def rows(self) -> Mapping[str, str]:
        """All that the database holds, by table."""
        path = self.client.application.settings().database.url.removeprefix("sqlite:///")
        folder = Path(path).parent
        return {each.name: each.read_bytes().hex() for each in folder.glob("test.db*")}


@pytest.fixture
def putter(tmp_path: Path, served: Served, lake: Lake) -> Iterator[Putter]:
    bucket = lake.bucket()
    filled = {"ENDPOINT": lake.server.endpoint, "KEYS": str(lake.credentials), "BUCKET": bucket}
    settings = re.sub("ENDPOINT|KEYS|BUCKET", lambda found: filled[found.group()], SETTINGS)
    with opened(tmp_path, f"sqlite:///{tmp_path}/test.db", served, settings) as client:
        client.says(ALICE, TEAM_A, f"/dataset add chest-xray s3://{bucket}/set/")
        yield Putter(client, lake, bucket)


def test_the_grant_is_shown_and_kept_nowhere(putter: Putter) -> None:
    client = putter.client
    assert client.says(ALICE, TEAM_A, "/dataset put chest-xray --name v2") == (
        f"Preparing a push from your computer to s3://{putter.bucket}/set/.\n"
        "Once its card in this channel shows the button Get the command, click it.\n"
        "For a few small files, stop it, drop them into this channel and choose Save files as a"
        " dataset in the menu of that message."
    )
    putter.waits()
    putter.grants(GRANT % (SECRET, SECRET))
    with capture_logs() as logs:
        first, then = putter.clicks()
    word = re.search(r"qmput1\.[\w=-]+", then)
    assert word is not None
    assert read_grant(word.group()).answer.endswith(SECRET)
    assert then.replace(word.group(), "GRANT").splitlines()[:4] == [
        f"Push to s3://{putter.bucket}/set/",
        (
            "Run `quartermaster dataset push FOLDER` on your computer, with the folder that has the"
            " files, and paste this grant when asked:"
        ),
        (
            "Only you can see this. Anyone who has the grant can push files there, so keep it"
            f" private. It works until {_until(then)} at the latest."
        ),
        "  | GRANT",
    ]
    assert first == ""
    kept = f"{logs}{putter.rows()}"
    assert not any(each in kept for each in (word.group(), SECRET, SECRET.encode().hex(),
                                             word.group().encode().hex()))  # fmt: skip


def _until(text: str) -> str:
    found = re.search(r"until (.*) at the latest", text)
    assert found is not None
    return found.group(1)


def test_others_and_early_clicks_get_none(putter: Putter) -> None:
    putter.client.says(ALICE, TEAM_A, "/dataset put chest-xray")
    assert putter.clicks()[0].splitlines()[0] == "No files can be pushed by this card now."
    putter.waits()
    assert putter.clicks(MIA)[0].splitlines() == [
        f"Only @{ALICE} can get this command: it lets files be pushed in their name.",
        "Use `/dataset put chest-xray` yourself.",
    ]


def test_stores_that_cannot_sign_are_refused(putter: Putter) -> None:
    said = putter.client.says(ALICE, TEAM_A, "/dataset put cold --to gs://cold/x/")
    assert said.splitlines() == [
        (
            "Store glacier is of type gcs. Files of a computer can only be pushed to stores of type"
            " s3."
        ),
        "Copy them to a PVC and use `/dataset push`.",
    ]


def test_slack_files_are_refused_in_their_words(putter: Putter) -> None:
    link = f"https://acme.slack.com/archives/{TEAM_A}/p1764230400000100"
    said = putter.client.says(ALICE, TEAM_A, f"/dataset put cold --to gs://cold/x/ --from {link}")
    assert said.splitlines() == [
        "Store glacier is of type gcs. Files from Slack can only be pushed to stores of type s3.",
        "Copy them to a PVC and use `/dataset push`.",
    ]


def test_a_grant_in_a_command_is_refused(putter: Putter) -> None:
    said = putter.client.says(ALICE, TEAM_A, f"/dataset put chest-xray --note qmput1.{SECRET}")
    assert SECRET not in said
    assert putter.client.application.database.read(lambda s: s.exec(select(Push)).all()) == []
