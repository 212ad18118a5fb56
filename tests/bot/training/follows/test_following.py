"""Logs that people see grow: for a while, within Slack's limits, and as long as they may."""

from datetime import timedelta

import pytest
from sqlmodel import col, select

from bot.errors import ConflictError, LimitError, NotAllowedError
from bot.slack.card import Reply
from bot.slack.messages import Message
from bot.slack.text import as_text
from bot.training.follows.card import LogFollowRenderer
from bot.training.follows.service import LASTS, MOST_AT_ONCE, forget
from bot.training.tables import FOLLOW, LogFollow
from playground.cluster.control.training import Training
from tests.bot.ground import ALICE, BOB, CAROL, ERIN
from tests.bot.training.rig import IMAGE, Rig, settings


def follow(rig: Rig, run_id: str, person: str = ALICE, pod: str = "") -> str:
    """Somebody follows the log of a run; the id of that."""
    by, run = rig.caller(person), rig.get(run_id)
    return rig.do(
        lambda session: rig.follows.follow(session, by, run, rig.clock.now(), pod=pod, lines=50).id
    )


def stop(rig: Rig, follow_id: str, person: str = ALICE) -> None:
    by, now = rig.caller(person), rig.clock.now()
    rig.do(lambda s: rig.follows.stop(s, by, rig.follows.get(s, follow_id), now))


def shown(rig: Rig, follow_id: str) -> list[str]:
    card = rig.do(lambda s: LogFollowRenderer(rig.words).card(s, follow_id, ALICE))
    assert card is not None
    return as_text(Reply(card=card)).splitlines()


def row(rig: Rig, follow_id: str) -> LogFollow:
    return rig.do(lambda session: session.get_one(LogFollow, follow_id))


def message(rig: Rig, follow_id: str) -> Message:
    sought = select(Message).where(col(Message.subject_id) == follow_id)
    return rig.do(lambda session: session.scalars(sought).one())


def epochs(rig: Rig) -> str:
    """A run that says something every six seconds."""
    run_id = rig.submit()
    rig.pass_time(seconds=30)
    return run_id


def test_a_followed_log_grows(rig: Rig) -> None:
    run_id = epochs(rig)
    follow_id = follow(rig, run_id)
    rig.pass_time(seconds=1)
    first = shown(rig, follow_id)
    assert first[0].startswith("▶️ Log of lane · ")
    assert first[1].startswith("Shows the newest lines until ")
    assert "epoch 1/3 step " in first[-2]
    assert first[-1] == "  [Stop following]"
    rig.pass_time(seconds=20)
    later = shown(rig, follow_id)
    assert later[-2] > first[-2]
    assert first[-2] in later


def test_only_who_asked_sees_it(rig: Rig) -> None:
    follow_id = follow(rig, epochs(rig))
    its = message(rig, follow_id)
    assert (its.channel, its.owner, its.live, its.is_direct) == (ALICE, ALICE, True, True)


def test_edits_keep_within_what_slack_allows(rig: Rig) -> None:
    run_id = epochs(rig)
    ids = [follow(rig, run_id, person) for person in (ALICE, ERIN, CAROL)]
    rig.pass_time(seconds=1)
    before = [message(rig, each).wants for each in ids]
    rig.pass_time(minutes=1)
    edits = [message(rig, each).wants - wants for each, wants in zip(ids, before, strict=True)]
    assert all(0 < each <= 4 for each in edits)


def test_an_unchanged_log_is_not_shown_anew(rig: Rig) -> None:
    rig.world.behaviours[IMAGE] = Training(never_ends=True, silent=True)
    follow_id = follow(rig, epochs(rig))
    rig.pass_time(seconds=2)
    wants = message(rig, follow_id).wants
    rig.pass_time(minutes=2)
    assert message(rig, follow_id).wants == wants
    assert shown(rig, follow_id)[2] == "There is no output yet."


def test_it_ends_with_the_run(rig: Rig) -> None:
    run_id = epochs(rig)
    follow_id = follow(rig, run_id)
    rig.pass_time(minutes=5)
    assert rig.get(run_id).phase == "succeeded"
    said = shown(rig, follow_id)
    assert said[0].startswith("⏹️ Log of lane")
    assert said[1] == "The run has ended. `/train logs lane` shows its log."
    assert said[-1].endswith("Total images/sec: 812.4")
    assert message(rig, follow_id).live is False


def test_it_lasts_ten_minutes_unless_asked_again(rig: Rig) -> None:
    rig.world.behaviours[IMAGE] = Training(never_ends=True)
    run_id = epochs(rig)
    follow_id = follow(rig, run_id)
    rig.pass_time(minutes=8)
    assert follow(rig, run_id) == follow_id
    rig.pass_time(minutes=8)
    assert row(rig, follow_id).ended_at is None
    rig.pass_time(minutes=3)
    assert row(rig, follow_id).ended_at is not None
    assert shown(rig, follow_id)[1] == (
        "The 10 minutes are over. `/train logs lane --follow` follows it again."
    )
    assert follow(rig, run_id) != follow_id


def test_it_stops_when_they_want(rig: Rig) -> None:
    follow_id = follow(rig, epochs(rig))
    rig.pass_time(seconds=10)
    with pytest.raises(
        NotAllowedError, match="<@U0ALICE> follows this log, and only they can stop it"
    ):
        stop(rig, follow_id, ERIN)
    stop(rig, follow_id)
    stop(rig, follow_id)
    rig.pass_time(seconds=1)
    kept = shown(rig, follow_id)
    assert kept[1].startswith("You stopped following it. `/train logs lane --follow`")
    assert "epoch 1/3" in kept[-1]
    rig.pass_time(seconds=30)
    assert shown(rig, follow_id) == kept


def test_asking_again_undoes_a_stop(rig: Rig) -> None:
    run_id = epochs(rig)
    follow_id = follow(rig, run_id)
    stop(rig, follow_id)
    assert follow(rig, run_id) == follow_id
    rig.pass_time(seconds=20)
    assert row(rig, follow_id).ended_at is None


def test_a_new_process_goes_on_with_it(rig: Rig) -> None:
    follow_id = follow(rig, epochs(rig))
    rig.pass_time(seconds=7)
    before = shown(rig, follow_id)
    rig.restart()
    rig.pass_time(seconds=30)
    assert shown(rig, follow_id)[-2] > before[-2]


def test_who_has_left_the_team_sees_no_more(rig: Rig) -> None:
    follow_id = follow(rig, epochs(rig))
    rig.pass_time(seconds=7)
    rig.policy = settings(members={"people": [BOB]})
    rig.pass_time(seconds=10)
    assert shown(rig, follow_id) == [
        "⏹️ Log of lane",
        "You may not read the logs of this run any more.",
    ]
    assert row(rig, follow_id).shown == []


def test_a_message_that_cannot_be_shown_ends_it(rig: Rig) -> None:
    follow_id = follow(rig, epochs(rig))
    rig.pass_time(seconds=2)
    its = message(rig, follow_id).id

    def die(session: object) -> None:
        session.get_one(Message, its).is_dead = True  # type: ignore[attr-defined]

    rig.do(die)
    rig.pass_time(seconds=10)
    assert row(rig, follow_id).reason == "Its message could not be shown."


def test_another_node_can_be_followed(rig: Rig) -> None:
    run_id = rig.submit(kind="elastic", nodes=2)
    rig.pass_time(seconds=30)
    follow_id = follow(rig, run_id, pod="1")
    rig.pass_time(seconds=2)
    assert f"{rig.get(run_id).job_name}-1-" in shown(rig, follow_id)[0]
    wrong = follow(rig, run_id, ERIN, pod="7")
    rig.pass_time(seconds=2)
    assert shown(rig, wrong)[2] == (
        "The log could not be read: lane has no log of pod 7. It has logs of: 0, 1. Use `--pod 1`."
    )


def test_an_outage_is_said_and_passes(rig: Rig) -> None:
    follow_id = follow(rig, epochs(rig))
    rig.pass_time(seconds=7)
    rig.world.faults.unavailable = True
    rig.pass_time(seconds=10)
    assert "503 ServiceUnavailable" in shown(rig, follow_id)[2]
    rig.world.faults.unavailable = False
    rig.pass_time(seconds=30)
    assert "503 ServiceUnavailable" not in "\n".join(shown(rig, follow_id))


def test_what_has_ended_cannot_be_followed(rig: Rig) -> None:
    run_id = epochs(rig)
    rig.pass_time(minutes=5)
    with pytest.raises(ConflictError) as caught:
        follow(rig, run_id)
    assert (caught.value.message, caught.value.hint) == (
        "lane has ended, so its log no longer grows.",
        "`/train logs lane` shows it.",
    )


def test_so_many_logs_are_followed_at_most(rig: Rig) -> None:
    runs = [rig.submit(f"lane-{number}") for number in range(4)]
    for run_id in runs[:3]:
        follow(rig, run_id)
    with pytest.raises(LimitError, match="You already follow 3 logs"):
        follow(rig, runs[3])

    def crowd(session: object) -> None:
        for number in range(MOST_AT_ONCE - 3):
            begun = rig.clock.now()
            session.add(  # type: ignore[attr-defined]
                LogFollow(
                    workspace_id="T0QM",
                    team="team-a",
                    person=f"U{number}",
                    run_id=runs[0],
                    lines=50,
                    begun_at=begun,
                    until=begun + LASTS,
                )
            )

    rig.do(crowd)
    with pytest.raises(LimitError) as caught:
        follow(rig, runs[3], ERIN)
    assert caught.value.hint == (
        "Try again in a few minutes. `/train logs lane-3` shows its last lines."
    )


def test_what_was_followed_is_forgotten(rig: Rig) -> None:
    follow_id = follow(rig, epochs(rig))
    rig.pass_time(minutes=5)
    later = rig.clock.now() + timedelta(days=2)
    rig.do(lambda session: forget(session, later))
    gone = rig.do(
        lambda session: (
            session.get(LogFollow, follow_id),
            session.scalars(select(Message).where(col(Message.subject_kind) == FOLLOW)).all(),
        )
    )
    assert gone == (None, [])
