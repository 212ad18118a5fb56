"""What a failed step makes of a message, code by code."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.errors import ChatError
from bot.slack.client import Destination, MessageRef
from bot.slack.messages import Message
from bot.slack.sending.delivery_rules import (
    Changes,
    DeliveryContext,
    FindPosted,
    Post,
    Step,
    Update,
    after_failure,
    after_vain_look,
    decide,
)
from tests.moments import off_the_minute

NOW = off_the_minute(datetime(2026, 11, 21, 12, tzinfo=UTC))
WORLD = DeliveryContext(NOW, admin_channel="C0ADMIN")
POST = Post(Destination("C0TEAMA"))
UPDATE = Update(MessageRef("C0TEAMA", "1.000001"))
LOOK = FindPosted(Destination("C0TEAMA"), NOW)
LATER = timedelta(seconds=1)
UNPOSTED = {"posting_since": None, "ts": None, "place": None, "digest": None}


def message(**columns: object) -> Message:
    row = Message(
        workspace_id="T0QM",
        subject_kind="run",
        subject_id="lane",
        purpose="card",
        channel="C0TEAMA",
        created_at=NOW,
    )
    for name, value in columns.items():
        setattr(row, name, value)
    return row


CASES: list[tuple[str, Step, Changes]] = [
    ("thread_not_found", POST, {"posting_since": None, "parent_id": None}),
    ("no_such_code", POST, {"posting_since": None, "attempts": 1, "not_before": NOW + LATER}),
    ("unreachable", POST, {"posting_since": None, "attempts": 1, "not_before": NOW + LATER}),
    ("no_answer", POST, {"attempts": 1, "not_before": NOW + LATER}),
    ("server_error", POST, {"attempts": 1, "not_before": NOW + LATER}),
    ("server_error", LOOK, {"attempts": 1, "not_before": NOW + LATER}),
    ("unreachable", LOOK, {"attempts": 1, "not_before": NOW + LATER}),
    ("not_in_channel", LOOK, {"posting_since": None}),
    ("missing_scope", LOOK, {"posting_since": None}),
    ("invalid_auth", LOOK, {"not_before": NOW + timedelta(minutes=1)}),
    ("message_not_found", UPDATE, {**UNPOSTED, "is_reposted": True}),
    ("is_inactive", UPDATE, {**UNPOSTED, "detour": 1}),
]


@pytest.mark.parametrize(("code", "step", "expected"), CASES)
def test_each_failure_changes_just_this(code: str, step: Step, expected: Changes) -> None:
    error = ChatError(f"Slack answered {code}.", code=code)
    changes = after_failure(message(parent_id="card"), step, error, WORLD)
    assert {name: changes[name] for name in changes if name != "trouble"} == expected


def test_lost_posts_are_looked_for_then_repeated() -> None:
    def after(seconds: int) -> tuple[Step | None, Changes]:
        row = message(posting_since=NOW - timedelta(seconds=seconds))
        return decide(row, None, WORLD), after_vain_look(row, WORLD)

    look = FindPosted(Destination("C0TEAMA"), NOW - timedelta(seconds=4) - timedelta(minutes=5))
    assert after(2)[0] is None
    assert after(4) == (look, {"not_before": NOW + timedelta(seconds=3)})
    assert after(31)[1] == {"posting_since": None}


def test_unknown_refusals_end_after_five_attempts() -> None:
    error = ChatError("Slack answered no_text to chat.postMessage.", code="no_text")
    assert "is_dead" not in after_failure(message(attempts=3), POST, error, WORLD)
    changes = after_failure(message(attempts=4), POST, error, WORLD)
    assert changes["is_dead"]
    assert changes["trouble"] == (
        "The message could not be shown. Slack answered no_text to chat.postMessage."
    )


def test_outages_are_waited_out_for_ever() -> None:
    error = ChatError("Slack could not be reached.", code="unreachable")
    changes = after_failure(message(attempts=10_000), POST, error, WORLD)
    assert changes["not_before"] == NOW + timedelta(seconds=60)
    assert "is_dead" not in changes


def test_notes_of_a_dead_card_stand_alone() -> None:
    note = message(purpose="ended", parent_id="card")
    assert decide(note, message(id="card"), WORLD) is None
    assert decide(note, message(id="card", is_dead=True), WORLD) == POST
    shown = message(id="card", place="C0ADMIN", ts="1.000001")
    assert decide(note, shown, WORLD) == Post(Destination("C0ADMIN", "1.000001"))
