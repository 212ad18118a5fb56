"""How people are told of their runs, as each of them has chosen."""

from collections.abc import Iterable
from datetime import UTC, datetime

from sqlmodel import Session, select

from bot.audit import AuditLine
from bot.database.database import Database
from bot.notices import Notice, NoticeKind, Way, choose, tell, ways_of
from bot.people.access import Caller, ChannelPlace
from bot.slack.card import Button
from bot.slack.markup import plain
from bot.slack.messages import Message, Subject, ThreadMessage, show_card
from tests.moments import off_the_minute

NOW = off_the_minute(datetime(2026, 11, 22, 12, tzinfo=UTC))
ALICE, BOB = "U0ALICE", "U0BOB"
RUN = Subject("T0QM", "run", "lane")


def caller(person: str) -> Caller:
    return Caller("T0QM", person, "C0TEAMA", ChannelPlace.TEAM, "team-a", frozenset())


def chooses(
    database: Database, person: str, way: Way, kinds: Iterable[NoticeKind] = NoticeKind
) -> None:
    database.transaction(lambda session: choose(session, caller(person), way, kinds, NOW))


def tells(
    database: Database, person: str, kind: NoticeKind = NoticeKind.IDLE, purpose: str = "idle"
) -> None:
    note = ThreadMessage(purpose, (plain("lane: its GPUs do nothing."), plain("Others wait.")),
                broadcast=True, buttons=(Button("gpu.snooze", "Snooze", "lane"),))  # fmt: skip

    def work(session: Session) -> None:
        show_card(session, RUN, "C0TEAMA", NOW, live=True)
        tell(session, RUN, "C0TEAMA", Notice(kind, person, note), NOW)

    database.transaction(work)


def said(database: Database) -> list[tuple[str, str, bool, bool]]:
    """Where, what, whether to the whole channel too, and whether of the card."""

    def work(session: Session) -> list[tuple[str, str, bool, bool]]:
        rows = session.exec(select(Message).order_by(Message.id)).all()
        [card] = [row.id for row in rows if row.purpose == "card"]
        return [
            (row.channel, "\n".join(row.content or ()), row.broadcast, row.parent_id == card)
            for row in rows
            if row.purpose != "card" and len(row.buttons or ()) == 1
        ]

    return database.read(work)


IDLE = "lane: its GPUs do nothing.\nOthers wait."


def test_owner_is_mentioned_unless_they_choose(database: Database) -> None:
    tells(database, ALICE)
    assert said(database) == [("C0TEAMA", f"<@{ALICE}> {IDLE}", True, True)]


def test_direct_message_comes_besides_the_thread(database: Database) -> None:
    chooses(database, ALICE, Way.DM)
    tells(database, ALICE)
    assert said(database) == [("C0TEAMA", IDLE, True, True), (ALICE, IDLE, False, True)]


def test_nobody_is_mentioned_who_chose_none(database: Database) -> None:
    chooses(database, ALICE, Way.NONE)
    tells(database, ALICE)
    assert said(database) == [("C0TEAMA", IDLE, True, True)]


def test_one_kind_is_told_otherwise_than_others(database: Database) -> None:
    chooses(database, ALICE, Way.DM, [NoticeKind.PREEMPTED])
    tells(database, ALICE)
    tells(database, ALICE, NoticeKind.PREEMPTED, "preempted-1")
    assert [place for place, *_ in said(database)] == ["C0TEAMA", "C0TEAMA", ALICE]


def test_one_persons_choice_is_nobody_elses(database: Database) -> None:
    chooses(database, BOB, Way.NONE)
    tells(database, ALICE)
    assert said(database)[0][1].startswith(f"<@{ALICE}> ")


def test_what_was_told_stays_told_once(database: Database) -> None:
    tells(database, ALICE)
    chooses(database, ALICE, Way.DM)
    tells(database, ALICE)
    tells(database, ALICE)
    assert [place for place, *_ in said(database)] == ["C0TEAMA"]


def test_last_choice_holds_and_is_recorded(database: Database) -> None:
    chooses(database, ALICE, Way.NONE)
    chooses(database, ALICE, Way.DM, [NoticeKind.IDLE, NoticeKind.TIME])
    found = database.read(lambda session: ways_of(session, caller(ALICE)))
    assert {kind for kind, way in found.items() if way is Way.DM} == {
        NoticeKind.IDLE,
        NoticeKind.TIME,
    }
    assert set(found.values()) == {Way.DM, Way.NONE}
    lines = database.read(lambda session: session.exec(select(AuditLine)).all())
    assert [(line.verb, line.facts) for line in lines] == [
        ("notices.choose", {"way": "none", "kinds": "started time preempted idle failed ended"}),
        ("notices.choose", {"way": "dm", "kinds": "idle time"}),
    ]
