"""Who people are follows Slack: guests have no rights, and groups are read again."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from sqlmodel import Session, select

from bot.clock import Clock
from bot.config import Settings
from bot.database.database import Database
from bot.people import people
from bot.people.directory import (
    ChannelController,
    GroupController,
    PersonController,
    look_up_all,
)
from bot.people.people import GroupMember, Person
from bot.reconcile.controller import Controller
from bot.reconcile.due import Due, wake
from bot.reconcile.loop import Loop
from bot.slack.messages import TOPIC, Message
from playground.slack.people import User, UserGroup
from tests.bot.slack.conftest import slack, stage
from tests.bot.slack.receiving.dispatchers import client_of, settings_for
from tests.databases import create_tables
from tests.playground.slack.served import Served

__all__ = ["slack", "stage"]


SHARED = (
    "<#C0TEAMA> is shared with another company. Its messages are sent here or to their owners;"
    " commands that change something are rejected there. Name another channel in"
    " quartermaster.yaml or allow this one in `slack.shared_channels`."
)


class Directory:
    """The due loop with the two controllers that ask Slack about people."""

    def __init__(self, slack: Served, url: str) -> None:
        self.clock = Clock()
        create_tables(url)
        self.database = Database(url)
        self.settings = self.with_admins("S0ADMINS", slack)
        client = client_of(slack)
        controllers: list[Controller] = [
            PersonController(client, self.clock),
            GroupController(client, self.clock, lambda: self.settings),
            ChannelController(client, self.clock, lambda: self.settings),
        ]
        self.loop = Loop(self.database, self.clock, controllers)

    @staticmethod
    def with_admins(group: str | None, slack: Served) -> Settings:
        groups = (group,) if group else ()
        settings = settings_for(slack)
        admins = settings.admins.model_copy(update={"groups": groups})
        return settings.model_copy(update={"admins": admins})

    def meet(self, user_id: str) -> Person | None:
        """Has Slack asked who this is; what is known then."""
        now = self.clock.now()
        self.database.transaction(lambda s: people.get_to_know(s, "T0QM", user_id, now))
        self.loop.run_due()
        return self.known(user_id)

    def look_at(self, channel: str) -> None:
        """Has Slack asked how a channel is."""
        now = self.clock.now()
        self.database.transaction(lambda s: people.look_at_channel(s, "T0QM", channel, now))
        self.loop.run_due()

    def said(self) -> list[tuple[str, str]]:
        """What is said once, and where."""
        rows = self.database.read(lambda s: list(s.exec(select(Message).order_by(Message.id))))
        return [(row.channel, "\n".join(row.content or ())) for row in rows]

    def known(self, user_id: str) -> Person | None:
        return self.database.read(lambda s: people.known(s, "T0QM", user_id))

    def read_group(self, group_id: str = "S0ADMINS") -> set[str]:
        """Has Slack asked who is in the group; who is in it then."""
        now, row = self.clock.now(), people.row_id("T0QM", group_id)
        self.database.transaction(lambda s: wake(s, people.GROUP, row, people.LANE, now))
        self.loop.run_due()
        return self.database.read(lambda s: people.members_of(s, "T0QM", group_id))

    def pass_time(self, interval: timedelta) -> None:
        self.clock.shift(self.clock.offset + interval)
        self.loop.run_due()

    def due_in(self, kind: str, slack_id: str) -> timedelta | None:
        row = self.database.read(lambda s: s.get_one(Due, (kind, people.row_id("T0QM", slack_id))))
        return row.due_at - self.clock.now() if row.due_at else None


@pytest.fixture
def directory(slack: Served, tmp_path: Path) -> Iterator[Directory]:
    opened = Directory(slack, f"sqlite:///{tmp_path}/bot.db")
    yield opened
    opened.loop.stop()
    opened.database.close()


def is_out(directory: Directory, user_id: str) -> bool:
    def work(session: Session) -> bool:
        return people.is_out(session, "T0QM", user_id)

    return directory.database.read(work)


def test_members_are_known_by_name_and_zone(directory: Directory) -> None:
    alice = directory.meet("U0ALICE")
    assert alice is not None
    assert (alice.name, alice.time_zone) == ("alice", "Europe/Berlin")
    assert not is_out(directory, "U0ALICE")


def test_home_follows_who_becomes_known(directory: Directory) -> None:
    heard = set[str]()
    directory.database.on_commit(heard.update)
    directory.meet("U0ALICE")
    assert TOPIC in heard


def test_guests_strangers_and_the_gone_are_out(slack: Served, directory: Directory) -> None:
    users = slack.workspace.users
    users["U0SINGLE"] = User("U0SINGLE", "single", "Single", is_ultra_restricted=True)
    users["U0OTHER"] = User("U0OTHER", "other", "Other", team_id="T0OTHER", is_stranger=True)
    users["U0LEFT"] = User("U0LEFT", "left", "Left", deleted=True)
    for user in ("U0DAN", "U0SINGLE", "U0OTHER", "U0LEFT", "U0NOBODY"):
        assert directory.meet(user) is not None
        assert is_out(directory, user)


def test_a_new_guest_is_noticed_within_hours(slack: Served, directory: Directory) -> None:
    directory.meet("U0ALICE")
    slack.workspace.users["U0ALICE"].is_restricted = True
    directory.pass_time(timedelta(hours=5))
    assert not is_out(directory, "U0ALICE")
    directory.pass_time(timedelta(hours=1))
    assert is_out(directory, "U0ALICE")


def test_a_limited_slack_is_asked_when_allowed(slack: Served, directory: Directory) -> None:
    slack.workspace.faults.limited = {"users.info": 20}
    assert directory.meet("U0ALICE") is None
    wait = directory.due_in(people.PERSON, "U0ALICE")
    assert wait is not None
    assert timedelta(seconds=19) <= wait <= timedelta(seconds=30)
    slack.workspace.faults.limited = {}
    directory.pass_time(timedelta(seconds=31))
    assert directory.known("U0ALICE") is not None


def test_groups_follow_slack_within_ten_minutes(slack: Served, directory: Directory) -> None:
    assert directory.read_group() == {"U0CAROL"}
    slack.workspace.groups["S0ADMINS"].users = ["U0BOB"]
    directory.pass_time(timedelta(minutes=10))
    members = directory.database.read(lambda s: people.members_of(s, "T0QM", "S0ADMINS"))
    assert members == {"U0BOB"}


@pytest.mark.parametrize("field", ["is_ext_shared", "is_pending_ext_shared"])
def test_shared_channels_are_noticed_within_hours(
    slack: Served, directory: Directory, field: str
) -> None:
    now, row = directory.clock.now(), people.row_id("T0QM", "C0TEAMA")
    directory.database.transaction(lambda s: wake(s, people.CHANNEL, row, people.LANE, now))
    directory.loop.run_due()
    assert not is_shared(directory)
    setattr(slack.workspace.channels["C0TEAMA"], field, True)
    directory.pass_time(timedelta(hours=6))
    assert is_shared(directory)
    setattr(slack.workspace.channels["C0TEAMA"], field, False)
    directory.pass_time(timedelta(hours=6))
    assert not is_shared(directory)


@pytest.mark.parametrize("is_allowed", [False, True])
def test_admins_are_told_once_each_time(
    slack: Served, directory: Directory, *, is_allowed: bool
) -> None:
    update = {"admin_channel": "C0APPROVE", "shared_channels": ("C0TEAMA",) * is_allowed}
    chosen = directory.settings.slack.model_copy(update=update)
    directory.settings = directory.settings.model_copy(update={"slack": chosen})
    for number, is_there in enumerate((True, False, True)):
        slack.call(partial(slack.workspace.share, "C0TEAMA", is_shared=is_there))
        for _ in range(2):
            directory.look_at("C0TEAMA")
        assert is_shared(directory) is is_there
        times = 0 if is_allowed else (number + 2) // 2
        assert directory.said() == [("C0APPROVE", SHARED)] * times


def is_shared(directory: Directory) -> bool:
    return directory.database.read(lambda s: people.is_shared_outside(s, "T0QM", "C0TEAMA"))


def test_channels_named_no_more_are_let_be(directory: Directory) -> None:
    now, row = directory.clock.now(), people.row_id("T0QM", "C0OTHER")
    directory.database.transaction(lambda s: wake(s, people.CHANNEL, row, people.LANE, now))
    directory.loop.run_due()
    assert directory.due_in(people.CHANNEL, "C0OTHER") is None


def test_a_disabled_group_has_no_members(slack: Served, directory: Directory) -> None:
    assert directory.read_group() == {"U0CAROL"}
    slack.workspace.groups["S0ADMINS"].disabled = True
    assert directory.read_group() == set()


def test_groups_named_no_more_are_forgotten(slack: Served, directory: Directory) -> None:
    assert directory.read_group() == {"U0CAROL"}
    directory.settings = directory.with_admins(None, slack)
    assert directory.read_group() == set()
    assert directory.due_in(people.GROUP, "S0ADMINS") is None


def with_many(known: Settings) -> Settings:
    """A company with 200 channels, 500 people and 50 groups."""
    team = known.teams["team-a"]
    many = team.model_copy(
        update={
            "channels": tuple(f"C0{number:03}" for number in range(200)),
            "members": team.members.model_copy(
                update={
                    "people": tuple(f"U0{number:03}" for number in range(500)),
                    "groups": tuple(f"S0{number:03}" for number in range(50)),
                }
            ),
        }
    )
    return known.model_copy(update={"teams": {**known.teams, "team-a": many}})


def moments_after(directory: Directory, kind: str, started: datetime) -> list[datetime]:
    """When what is due of a kind is looked up after a start."""
    settings = with_many(directory.settings)
    directory.database.transaction(lambda session: look_up_all(session, settings, started))
    rows = directory.database.read(lambda session: list(session.exec(select(Due))))
    return sorted(row.due_at for row in rows if row.kind == kind and row.due_at)


def test_three_starts_a_minute_keep_slacks_pace(directory: Directory) -> None:
    """Each start looks at all channels: they may have been shared meanwhile."""
    first = directory.clock.now()
    starts = [first + timedelta(seconds=seconds) for seconds in (0, 20, 40)]
    asked = list[datetime]()
    for started in starts:
        asked = [each for each in asked if each < started]
        asked += moments_after(directory, people.CHANNEL, started)
    minute = timedelta(minutes=1)
    assert all(late - early >= minute for early, late in zip(asked, asked[50:], strict=False))


def test_a_start_looks_people_up_at_slacks_pace(directory: Directory) -> None:
    """As many in a minute as Slack answers, and everyone in the end."""
    now, settings = directory.clock.now(), with_many(directory.settings)
    directory.database.transaction(lambda session: look_up_all(session, settings, now))
    rows = directory.database.read(lambda session: list(session.exec(select(Due))))
    for kind, most, named in (
        (people.PERSON, 100, settings.named_people()),
        (people.GROUP, 20, settings.named_groups()),
        (people.CHANNEL, 50, settings.named_channels()),
    ):
        moments = sorted(row.due_at for row in rows if row.kind == kind and row.due_at)
        assert len(moments) == len(named)
        assert moments[0] == now
        minute = timedelta(minutes=1)
        assert all(
            late - early >= minute for early, late in zip(moments, moments[most:], strict=False)
        )


def with_groups(directory: Directory, slack: Served, groups: tuple[str, ...]) -> None:
    """The administrators are in these groups now, each with a member in Slack."""
    for group in groups:
        slack.workspace.groups[group] = UserGroup(group, group, group, users=["U0BOB"])
    settings = directory.settings
    admins = settings.admins.model_copy(update={"groups": groups})
    directory.settings = settings.model_copy(update={"admins": admins})


def start(directory: Directory) -> None:
    """The bot starts, or its settings change; what is due at once is looked up."""
    now, settings = directory.clock.now(), directory.settings
    directory.database.transaction(lambda session: look_up_all(session, settings, now))
    run_all_due(directory)


def run_all_due(directory: Directory) -> None:
    while directory.loop.run_due():
        """Each time as many as one lane takes."""


def looked_up(directory: Directory) -> set[str]:
    rows = directory.database.read(lambda session: list(session.exec(select(GroupMember))))
    return {row.group_id for row in rows}


def test_many_starts_reach_every_group(slack: Served, directory: Directory) -> None:
    """Each start comes before the round of the one before it is over."""
    groups = tuple(f"S0{number:03}" for number in range(12))
    with_groups(directory, slack, groups)
    start(directory)
    assert looked_up(directory) == set(groups[:5])
    directory.pass_time(timedelta(seconds=4))
    start(directory)
    assert looked_up(directory) == set(groups[:11])
    start(directory)
    assert looked_up(directory) == set(groups)


def test_a_newly_named_group_comes_first(slack: Served, directory: Directory) -> None:
    groups = tuple(f"S0{number:03}" for number in range(6))
    with_groups(directory, slack, groups)
    start(directory)
    with_groups(directory, slack, (*groups, "S0NEW"))
    start(directory)
    assert looked_up(directory) == {*groups, "S0NEW"}


@pytest.mark.parametrize("kind", [people.PERSON, people.GROUP, people.CHANNEL])
def test_a_start_keeps_the_order_of_lookups(directory: Directory, kind: str) -> None:
    """The last of a kind, of those who wait, comes before all others of it."""
    now, settings = directory.clock.now(), with_many(directory.settings)
    directory.database.transaction(lambda session: look_up_all(session, settings, now))
    before = order_of(directory, kind)
    *_, last = before

    def hurry(session: Session) -> None:
        wake(session, kind, last, people.LANE, now - timedelta(seconds=1))
        look_up_all(session, settings, now + timedelta(seconds=1))

    directory.database.transaction(hurry)
    assert order_of(directory, kind)[20:] == before[19:-1]
    row = directory.database.read(lambda session: session.get_one(Due, (kind, last)))
    assert row.due_at == now + timedelta(seconds=1)


def order_of(directory: Directory, kind: str) -> list[str]:
    """The rows of a kind in the order in which they are looked up."""
    rows = directory.database.read(lambda session: list(session.exec(select(Due))))
    moments = sorted((row.due_at, row.id) for row in rows if row.kind == kind and row.due_at)
    return [row_id for _, row_id in moments]
