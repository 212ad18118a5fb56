"""Files dropped into Slack arrive in a real store, whatever is lost on the way."""

import json

import pytest
from sqlmodel import select

from bot.audit import AuditLine
from bot.datasets.drops.copying import STEP_SECONDS, Copying
from bot.datasets.drops.tables import DropPhase
from bot.datasets.worker.parts import PART_BYTES
from playground.ledger import Fault
from tests.bot.datasets.drops.conftest import Open
from tests.bot.datasets.drops.dropping import Dropping
from tests.bot.datasets.worker.proxy import Exchange, proxied
from tests.bot.slack.receiving.dispatchers import client_of
from tests.object_stores import Lake

LABELS, SIZES = ("labels.csv", b"study,label\n1,0\n"), ("sizes.csv", b"study,size\n1,40\n")


def test_dropped_files_arrive_and_are_compared(rig: Dropping) -> None:
    large = ("scan.bin", bytes(range(256)) * (PART_BYTES // 256) + b"end")
    assert rig.put(rig.drop(LABELS, SIZES, large)) == (
        f"Copying the files of that message to s3://{rig.bucket}/set/.\n"
        "Its card in this channel shows the progress. The Stop button ends it."
    )
    rig.steps(3)
    with rig.received() as result:
        received = rig.arrives(result)
    assert (received.files, received.copied_files, received.verified_by) == (3, 3, {"md5": 3})
    assert rig.stored() == dict((LABELS, SIZES, large))
    lines = rig.client.application.database.read(lambda s: s.exec(select(AuditLine)).all())
    (line,) = [each for each in lines if each.verb == "dataset.put"]
    facts = {"source": "Files from Slack", "message": rig.messages[0].ts, "dataset": "labels"}
    assert facts.items() <= dict(line.facts).items()


def test_every_lost_answer_of_slack_is_asked_again(rig: Dropping) -> None:
    for name in ("conversations.replies", "files.info", "users.info", "file_download"):
        rig.slack.workspace.ledger.by_name[name] = [Fault.LOSE_ANSWER, Fault.REFUSE]
    rig.put(rig.drop(LABELS, SIZES))
    _wait_for(rig, DropPhase.SENDING)
    for name in ("files.info", "file_download"):
        rig.slack.workspace.ledger.by_name[name] = [Fault.LOSE_ANSWER, Fault.REFUSE]
    with rig.received() as result:
        rig.arrives(result)
    assert rig.stored() == dict((LABELS, SIZES))
    assert not any(rig.slack.workspace.ledger.by_name.values())


def _wait_for(rig: Dropping, phase: DropPhase) -> None:
    for _ in range(60):
        if rig.row().phase == phase:
            return
        rig.steps()
    raise AssertionError(f"it is not {phase}: {rig.row()}")


def test_a_trouble_that_is_over_is_not_shown(rig: Dropping) -> None:
    rig.put(rig.drop(LABELS))
    _wait_for(rig, DropPhase.SENDING)
    rig.waits()
    key = f"{rig.push().box.removeprefix(f's3://{rig.bucket}/')}grant.json"
    rig.lake.client.put_object(Bucket=rig.bucket, Key=key, Body=b"half a gra")
    rig.steps(20)
    assert rig.row().trouble == "The grant of the push cannot be read."
    rig.lake.client.delete_object(Bucket=rig.bucket, Key=key)
    rig.steps(40)
    assert (rig.row().trouble, rig.row().phase) == ("", DropPhase.SENDING)


def test_lost_answers_of_the_store_change_nothing(lake: Lake, through: Open) -> None:
    lost = set[tuple[str, str]]()

    def lose(exchange: Exchange) -> None:
        key = (exchange.method, exchange.path.partition("?")[0])
        if "X-Amz-Signature" in exchange.path and key not in lost:
            lost.add(key)
            exchange.lose()

    with proxied(lake.server.endpoint, after=lose) as proxy, through(proxy.endpoint) as rig:
        rig.put(rig.drop(LABELS, SIZES))
        rig.steps(2)
        with rig.received() as result:
            rig.arrives(result)
        assert rig.stored() == dict((LABELS, SIZES))
    # The listing, its answer and two files.
    assert len(lost) == 4


@pytest.mark.parametrize("steps", range(1, 7))
def test_a_killed_step_is_taken_again(rig: Dropping, steps: int) -> None:
    """Its effects have happened, but the row does not know of them."""
    rig.put(rig.drop(LABELS, SIZES))
    rig.steps(2)
    with rig.received() as result:
        for _ in range(steps):
            before = rig.row()
            rig.steps()
            rig.forgets(before)
        rig.restart()
        rig.arrives(result)
    assert rig.stored() == dict((LABELS, SIZES))


def test_a_step_ends_and_the_next_goes_on(rig: Dropping) -> None:
    content = bytes(range(256)) * (PART_BYTES // 128) + b"!"
    rig.put(rig.drop(("scan.bin", content)))
    rig.steps()
    moments = iter(range(0, 1000, round(STEP_SECONDS) + 1))
    slow = Copying(
        client_of(rig.slack), rig.client.application.settings, lambda: float(next(moments))
    )
    files = rig.row().found
    # Each look at the clock finds a step's time over, so that each step reads no piece.
    assert [len(each.pieces) for each in slow.read(files)] == [0]
    unhurried = Copying(client_of(rig.slack), rig.client.application.settings)
    (read,) = unhurried.read(files)
    assert (len(read.pieces), read.is_read) == (3, True)


def test_only_missing_files_are_sent_again(rig: Dropping) -> None:
    rig.lake.put(rig.bucket, dict((LABELS,)))
    rig.put(rig.drop(LABELS, SIZES))
    rig.steps(2)
    with rig.received() as result:
        received = rig.arrives(result)
    assert (received.files, received.copied_files) == (2, 1)


def test_other_content_there_ends_it(rig: Dropping) -> None:
    rig.lake.put(rig.bucket, {"labels.csv": b"other"})
    rig.put(rig.drop(LABELS))
    rig.steps(2)
    with rig.received():
        why, _ = rig.fails()
    assert "labels.csv" in why
    assert rig.stored() == {"labels.csv": b"other"}


def test_nothing_secret_is_kept_or_logged(rig: Dropping) -> None:
    rig.put(rig.drop(LABELS))
    rig.steps(2)
    with rig.received() as result:
        rig.arrives(result)
    kept = json.dumps([rig.row().model_dump(mode="json"), rig.push().model_dump(mode="json")])
    assert "X-Amz-Signature" not in kept
    assert rig.slack.workspace.credentials.bot_token not in kept
