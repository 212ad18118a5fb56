"""Pushes from computers: the Job that receives the files, and who gets the grant."""

from typing import Any

import pytest
from sqlmodel import select

from bot.audit import AuditLine
from bot.datasets.pushes.plan import PushRequest
from bot.datasets.tables import Push, PushPhase
from bot.errors import UserError
from playground.ledger import Fault
from tests.bot.datasets.pushes.pushing import TARGET, Pushing
from tests.bot.ground import ALICE, BOB, ERIN, TEAM_A, TEAM_B

EXPIRED = {
    "event": "failed",
    "reason": "expired",
    "message": "Not all files arrived within 12 hours.",
    "hint": "Files that have arrived stay. Use /dataset put again to push the rest.",
}
READY = f"<@{ALICE}> files for {TARGET} can be pushed now: click *Get the command* on the card."


def put(rig: Pushing, person: str = ALICE, channel: str = TEAM_A, **more: Any) -> str:
    """Somebody says /dataset put; the id of the push."""
    by = rig.caller(person, channel)
    asked = PushRequest(
        **({"claim": "", "folder": "", "target": "", "dataset": "chest-xray"} | more)
    )
    return rig.do(lambda session: rig.pushes.put(session, by, asked, rig.clock.now()).id)


def granted(rig: Pushing, push_id: str, person: str = ALICE, channel: str = TEAM_A) -> Push:
    """Somebody clicks the button that shows the command."""
    by = rig.caller(person, channel)
    return rig.do(
        lambda session: rig.pushes.granted(
            session, by, rig.pushes.get(session, push_id), rig.clock.now()
        )
    )


def refusal(rig: Pushing, **more: Any) -> tuple[str, str]:
    with pytest.raises(UserError) as caught:
        put(rig, **more)
    return caught.value.message, caught.value.hint


@pytest.fixture
def added(rig: Pushing) -> Pushing:
    """With a dataset of team-a, which team-b may use."""
    rig.add(source=TARGET, readers=("team-b",))
    return rig


def test_the_job_alone_gets_the_keys(added: Pushing) -> None:
    push_id = put(added, is_overwriting=True)
    added.pass_time(seconds=15)
    (job,) = added.jobs()
    pod = job["spec"]["template"]["spec"]
    arguments = pod["containers"][0]["args"]
    assert arguments[:3] == ["receive", "--target", TARGET]
    assert arguments[5:7] == ["--box", f"s3://qm-state/prod/uploads/{push_id}/"]
    assert arguments[9:] == ["--lasts", "43200", "--overwrite"]
    assert [each["secret"]["secretName"] for each in pod["volumes"] if "secret" in each] == [
        "lake-keys", "state-keys",
    ]  # fmt: skip
    assert (job["spec"]["activeDeadlineSeconds"], pod["automountServiceAccountToken"]) == (
        13 * 3600, False,
    )  # fmt: skip
    push = added.found(push_id)
    assert (push.share_id, push.claim_name, push.store, push.box_store) == (
        "", "", "lake", "state",
    )  # fmt: skip


def test_what_arrives_becomes_a_version(added: Pushing) -> None:
    push_id = put(added, version="v4", note="new labels")
    added.pass_time(seconds=60)
    push = added.found(push_id)
    assert (push.phase, push.version_id is None) == (PushPhase.PUSHED, False)
    assert added.notes(push_id)["ended"] == (
        f"<@{ALICE}> Local folder was pushed to {TARGET}: 1,200 files, 48 GB.\n"
        "Recording it as chest-xray@v4."
    )
    version = added.get(push.version_id or "")
    assert (version.reference, version.note, version.source, version.made_by) == (
        "chest-xray@v4", "new labels", TARGET, [],
    )  # fmt: skip
    added.pass_time(minutes=3)
    assert (added.found(push_id).is_cleared, added.nothing_is_left()) == (True, True)


def test_a_new_place_becomes_a_dataset(rig: Pushing) -> None:
    push_id = put(rig, target="s3://lake/faces/", dataset="faces")
    rig.pass_time(seconds=60)
    push = rig.found(push_id)
    assert rig.get(push.version_id or "").reference == "faces@v1"


def test_its_requester_alone_gets_the_grant(added: Pushing) -> None:
    added.pushes_so(seconds=600)
    push_id = put(added)
    with pytest.raises(UserError) as early:
        granted(added, push_id)
    assert early.value.message == "No files can be pushed by this card now."
    assert "[Get the command]" not in added.shown(push_id)
    added.pass_time(seconds=60)
    assert added.notes(push_id) == {"ready": READY}
    assert added.shown(push_id).endswith("[Get the command] [Stop]")
    assert granted(added, push_id).id == push_id
    assert added.do(lambda session: session.exec(select(AuditLine.verb)).all()).count(
        "dataset.put_grant"
    ) == 1  # fmt: skip
    with pytest.raises(UserError) as foreign:
        granted(added, push_id, ERIN)
    assert (foreign.value.message, foreign.value.hint) == (
        f"Only <@{ALICE}> can get this command: it lets files be pushed in their name.",
        "Use `/dataset put chest-xray` yourself.",
    )
    added.stop(push_id)
    with pytest.raises(UserError) as late:
        granted(added, push_id)
    assert late.value.message == "No files can be pushed by this card now."


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"dataset": "chest-xry"}, "There is no dataset chest-xry for team-a."),
        (
            {"person": BOB, "channel": TEAM_B},
            "chest-xray belongs to team-a; only that team can push to it.",
        ),
        (
            {"target": "s3://other/x/", "dataset": "faces"},
            "team-a may not push to s3://other/x/.",
        ),
        (
            {"target": "s3://lake/faces/"},
            f"The name chest-xray is taken by another dataset at {TARGET}.",
        ),
        (
            {"target": TARGET, "dataset": "faces"},
            f"{TARGET} is already the dataset chest-xray.",
        ),
    ],
)
def test_what_cannot_be_pushed_is_refused(
    added: Pushing, more: dict[str, Any], message: str
) -> None:
    assert refusal(added, **more)[0] == message


def test_one_push_at_a_time_writes_there(added: Pushing) -> None:
    put(added)
    added.pass_time(seconds=5)
    assert refusal(added)[0] == f"<@{ALICE}> is already pushing to {TARGET}."


def test_what_does_not_arrive_in_time_fails(added: Pushing) -> None:
    added.pushes_so(EXPIRED, code=65)
    push_id = put(added)
    added.pass_time(minutes=3)
    push = added.found(push_id)
    assert (push.phase, push.reason, push.unblock, push.version_id) == (
        PushPhase.FAILED, EXPIRED["message"], EXPIRED["hint"], None,
    )  # fmt: skip


def test_a_stopped_push_ends_its_job(added: Pushing) -> None:
    added.pushes_so(seconds=600)
    push_id = put(added)
    added.pass_time(seconds=60)
    added.stop(push_id)
    added.pass_time(minutes=1)
    push = added.found(push_id)
    assert (push.phase, push.reason, push.is_cleared, added.jobs()) == (
        PushPhase.FAILED, f"<@{ALICE}> stopped it.", True, [],
    )  # fmt: skip


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_each_request_may_be_lost(added: Pushing, fault: Fault) -> None:
    for name in ("create jobs", "delete jobs"):
        added.outside.ledger.by_name[name] = [fault]
    push_id = put(added)
    added.pass_time(seconds=1)
    added.restart()
    added.pass_time(minutes=6)
    assert (added.found(push_id).phase, added.found(push_id).is_cleared) == (
        PushPhase.PUSHED, True,
    )  # fmt: skip
    assert added.nothing_is_left()


def test_cards_of_uploads_say_whose_computer(added: Pushing) -> None:
    push_id = put(added)
    assert added.shown(push_id).splitlines()[:3] == [
        f"⏳ Local folder to {TARGET} · Starting",
        (
            "The requester pushes a folder of their computer with the command that the button shows"
            " to them alone. The bot compares every file that arrives."
        ),
        "  From          the computer of Alice",
    ]
