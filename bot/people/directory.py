"""Keeps users, user groups and channels up to date from Slack, in the background."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from itertools import count
from random import SystemRandom

from sqlalchemy import delete
from sqlmodel import Session, col

from bot.clock import Clock
from bot.config import Settings
from bot.database.database import Database
from bot.database.topics import touch
from bot.errors import ChatError
from bot.people import people
from bot.people.people import CHANNEL, GROUP, PERSON, Channel, GroupMember, Person
from bot.reconcile.controller import Step, Trouble
from bot.reconcile.due import scheduled, wake
from bot.slack.client import SlackClient, User
from bot.slack.markup import sentence
from bot.slack.messages import TOPIC, Subject, ThreadMessage, post_once
from bot.slack.sending.delivery_rules import OUTAGE, SHARED_OUTSIDE

_PERSON_AGAIN = timedelta(hours=6)
_GROUP_AGAIN = timedelta(minutes=10)
# Slack sends an event when another company joins a channel. Invitations, and events missed while
# the bot was down, are found by polling. Slack allows 50 such requests a minute, and installations
# have hundreds of channels.
_CHANNEL_AGAIN = timedelta(hours=6)
_CHANNEL_KNOWN = timedelta(days=1)
# How many are looked up at once, and after how many seconds each further one is. Slack allows 100
# requests about people in a minute, 20 about groups and 50 about channels. Each start looks at all
# channels, and a bot may be started three times within a minute.
_PEOPLE_PACE, _GROUP_PACE, _CHANNEL_PACE = (20, 0.75), (5, 4.0), (5, 3.0)
_CHANNELS = ("C", "G")
_SHARED = (
    "<#{}> is shared with another company. Its messages are sent here or to their owners; commands"
    " that change something are rejected there. Name another channel in quartermaster.yaml or allow"
    " this one in `slack.shared_channels`."
)
_NOBODY = User(name="", time_zone="UTC", is_guest=True, is_stranger=True, is_gone=True)
_chance = SystemRandom()


class PersonController:
    """Rereads each person from Slack at least every six hours, while Slack answers."""

    kind = PERSON

    def __init__(self, client: SlackClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    def step(self, row_id: str) -> Step:
        """Reads the person from Slack; one whom Slack no longer knows is kept without rights."""
        workspace_id, user_id = row_id.split(":")
        now = self._clock.now()
        try:
            user = _described(self._client, user_id)
        except ChatError as error:
            return _later(error, now)
        return Step(
            now + _spread(_PERSON_AGAIN),
            lambda session: _note_person(session, workspace_id, user_id, user, now),
        )

    def on_failure(self, session: Session, row_id: str, trouble: Trouble) -> None:
        """Keeps what is known; the error is in the log."""


class GroupController:
    """Rereads the members of the user groups that the configuration names."""

    kind = GROUP

    def __init__(self, client: SlackClient, clock: Clock, settings: Callable[[], Settings]) -> None:
        self._client = client
        self._clock = clock
        self._settings = settings

    def step(self, row_id: str) -> Step:
        """Reads the group's members from Slack, until the configuration no longer names it."""
        workspace_id, group_id = row_id.split(":")
        now = self._clock.now()
        if group_id not in self._settings().named_groups():
            return Step(None, lambda session: _note_members(session, workspace_id, group_id, ()))
        try:
            members = _members(self._client, group_id)
        except ChatError as error:
            return _later(error, now)
        return Step(
            now + _spread(_GROUP_AGAIN),
            lambda session: _note_members(session, workspace_id, group_id, members),
        )

    def on_failure(self, session: Session, row_id: str, trouble: Trouble) -> None:
        """Keeps what is known; the error is in the log."""


class ChannelController:
    """Rereads which channels of the configuration are shared with another company."""

    kind = CHANNEL

    def __init__(self, client: SlackClient, clock: Clock, settings: Callable[[], Settings]) -> None:
        self._client = client
        self._clock = clock
        self._settings = settings

    def step(self, row_id: str) -> Step:
        """Reads the channel from Slack, until the configuration no longer names it."""
        workspace_id, channel_id = row_id.split(":")
        now = self._clock.now()
        if channel_id not in self._settings().named_channels():
            return Step(None)
        try:
            is_shared = self._client.conversation_info(channel_id).is_shared_outside
        except ChatError as error:
            if error.code == "channel_not_found":
                return Step(now + _spread(_CHANNEL_AGAIN))
            return _later(error, now)
        channel = _channel(workspace_id, channel_id, is_shared, now)
        return Step(
            now + _spread(_CHANNEL_AGAIN),
            lambda session: _note_channel(session, channel, self._settings()),
        )

    def on_failure(self, session: Session, row_id: str, trouble: Trouble) -> None:
        """Keeps what is known; the error is in the log."""


class SharedChannels:
    """Keeps messages out of channels shared with another company, unless settings allow it."""

    def __init__(
        self,
        client: SlackClient,
        database: Database,
        clock: Clock,
        settings: Callable[[], Settings],
    ) -> None:
        self._client = client
        self._database = database
        self._clock = clock
        self._settings = settings

    def refuse(self, channel_id: str) -> None:
        """Raises ChatError if another company would see messages in the channel.

        Asks Slack first if nothing is known about the channel, or nothing newer than a day.
        """
        allowed = self._settings().slack.shared_channels
        if channel_id in allowed or not channel_id.startswith(_CHANNELS):
            return
        if self._is_shared(channel_id):
            raise ChatError(
                f"Channel {channel_id} is shared with another company.",
                "Name another channel, or allow it: `slack.shared_channels` in quartermaster.yaml.",
                code=SHARED_OUTSIDE,
            )

    def _is_shared(self, channel_id: str) -> bool:
        settings, now = self._settings(), self._clock.now()
        key = (settings.workspace, channel_id)
        known = self._database.read(lambda session: session.get(Channel, key))
        asked_at = known.refreshed_at if known is not None else None
        was_shared = known is not None and known.is_shared_outside
        if asked_at is not None and now - asked_at < _CHANNEL_KNOWN:
            return was_shared
        try:
            is_shared = self._client.conversation_info(channel_id).is_shared_outside
        except ChatError as error:
            if error.retry_after_seconds > 0 or error.code in OUTAGE:
                raise
            # Posting there fails for the same reason and reports it.
            return was_shared
        channel = _channel(*key, is_shared, now)
        self._database.transaction(lambda session: _note_channel(session, channel, settings))
        return is_shared


class Directory:
    """Rereads people from Slack immediately before their approval is acted upon."""

    def __init__(self, client: SlackClient, database: Database, clock: Clock) -> None:
        self._client = client
        self._database = database
        self._clock = clock

    def read_anew(self, workspace_id: str, users: Iterable[str], groups: Iterable[str]) -> None:
        """Rereads these users and user groups; ChatError if Slack does not answer."""
        people = {user: _described(self._client, user) for user in users}
        circles = {group: _members(self._client, group) for group in groups}

        def work(session: Session) -> None:
            now = self._clock.now()
            for user, described in people.items():
                _note_person(session, workspace_id, user, described, now)
            for group, members in circles.items():
                _note_members(session, workspace_id, group, members)

        self._database.transaction(work)


def look_up_all(session: Session, settings: Settings, now: datetime) -> None:
    """Schedules look-ups of all people, groups and channels in the configuration.

    They are spread so that Slack refuses none, and keep their order. A person who uses a command
    is looked up at once.
    """
    workspace = settings.workspace
    unknown = (
        user for user in settings.named_people() if people.known(session, workspace, user) is None
    )
    moments = _moments(now, *_PEOPLE_PACE)
    for user in _in_turn(session, PERSON, workspace, unknown):
        people.get_to_know(session, workspace, user, next(moments))
    moments = _moments(now, *_GROUP_PACE)
    for group in _in_turn(session, GROUP, workspace, settings.named_groups()):
        wake(session, GROUP, people.row_id(workspace, group), people.LANE, next(moments))
    moments = _moments(now, *_CHANNEL_PACE)
    for channel in _in_turn(session, CHANNEL, workspace, settings.named_channels()):
        people.look_at_channel(session, workspace, channel, next(moments))


def _in_turn(session: Session, kind: str, workspace: str, slack_ids: Iterable[str]) -> list[str]:
    """Newly named ones first, then the others in the order in which they were due anyway.

    Otherwise, starts that follow each other soon would put off the last ones forever.
    """
    moments = scheduled(session, kind)

    def turn(slack_id: str) -> tuple[bool, float, str]:
        due_at = moments.get(people.row_id(workspace, slack_id))
        return due_at is not None, due_at.timestamp() if due_at else 0.0, slack_id

    return sorted(slack_ids, key=turn)


def _moments(now: datetime, at_once: int, seconds: float) -> Iterator[datetime]:
    for number in count():
        yield now + timedelta(seconds=max(0, number - at_once + 1) * seconds)


def _described(client: SlackClient, user_id: str) -> User:
    try:
        return client.user(user_id)
    except ChatError as error:
        if error.code != "user_not_found":
            raise
        return _NOBODY


def _members(client: SlackClient, group_id: str) -> frozenset[str]:
    try:
        return client.group_members(group_id)
    except ChatError as error:
        if error.code != "no_such_subteam":
            raise
        return frozenset()


def _later(error: ChatError, now: datetime) -> Step:
    """Retries when Slack's rate limit allows it; other errors are raised to the due loop."""
    if error.retry_after_seconds <= 0:
        raise error
    return Step(now + timedelta(seconds=error.retry_after_seconds * _chance.uniform(1, 1.5)))


def _spread(interval: timedelta) -> timedelta:
    """Slightly less than the interval, so that lookups are spread over time."""
    return interval * _chance.uniform(0.9, 1.0)


def _channel(workspace_id: str, channel_id: str, is_shared: bool, now: datetime) -> Channel:  # noqa: FBT001  # private
    return Channel(
        workspace_id=workspace_id,
        channel_id=channel_id,
        is_shared_outside=is_shared,
        refreshed_at=now,
    )


def _note_channel(session: Session, channel: Channel, settings: Settings) -> None:
    """Saves the channel; notifies the admins once each time another company joins it."""
    was_shared = people.is_shared_outside(session, channel.workspace_id, channel.channel_id)
    session.merge(channel)
    admins, now = settings.slack.admin_channel or settings.approvals.channel, channel.refreshed_at
    is_news = channel.is_shared_outside and not was_shared
    is_allowed = channel.channel_id in settings.slack.shared_channels
    if admins is None or now is None or is_allowed or not is_news:
        return
    subject = Subject(channel.workspace_id, CHANNEL, channel.channel_id)
    lines = (sentence(_SHARED.format(channel.channel_id)),)
    note = ThreadMessage(f"shared-{now.isoformat()}", lines, in_thread=False)
    post_once(session, subject, admins, note, now)


def _note_person(
    session: Session, workspace_id: str, user_id: str, user: User, now: datetime
) -> None:
    person = session.get(Person, (workspace_id, user_id))
    if person is None:
        person = Person(workspace_id=workspace_id, user_id=user_id)
        session.add(person)
    if person.refreshed_at is None:
        # What shows them that they are looked up, such as their Home tab, is made again at once.
        touch(session, TOPIC)
    person.name = user.name
    person.time_zone = user.time_zone
    person.is_guest = user.is_guest
    person.is_stranger = user.is_stranger
    person.is_gone = user.is_gone
    person.refreshed_at = now


def _note_members(
    session: Session, workspace_id: str, group_id: str, members: Iterable[str]
) -> None:
    session.connection().execute(
        delete(GroupMember).where(
            col(GroupMember.workspace_id) == workspace_id, col(GroupMember.group_id) == group_id
        )
    )
    for user_id in sorted(members):
        session.add(GroupMember(workspace_id=workspace_id, group_id=group_id, user_id=user_id))
