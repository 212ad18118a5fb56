"""The people, teams and channels of the story, their configuration, and their time."""

from datetime import UTC, datetime, timedelta

from typing_extensions import override

from bot.clock import Clock
from bot.config import Settings
from bot.database.database import Session
from bot.people.access import Caller, ChannelPlace, Role
from bot.people.people import Person
from tests.moments import off_the_minute

DAY = timedelta(days=1)
START = off_the_minute(datetime(2026, 11, 21, 12, 0, tzinfo=UTC))
ALICE, BOB, CAROL, DAN = "U0ALICE", "U0BOB", "U0CAROL", "U0DAN"
TEAM_A, TEAM_B, APPROVE = "C0TEAMA", "C0TEAMB", "C0APPROVE"


def settings(**quotas: object) -> Settings:
    return Settings.model_validate(
        {
            "workspace": "T0QM",
            "admins": {"people": [CAROL]},
            "teams": {
                "team-a": {
                    "channels": [TEAM_A],
                    "members": {"people": [ALICE]},
                    "namespace": "team-a",
                    "local_queue": "team-a",
                },
                "team-b": {
                    "channels": [TEAM_B],
                    "leads": {"people": [BOB]},
                    "namespace": "team-b",
                    "local_queue": "team-b",
                },
            },
            "approvals": {
                "channel": APPROVE,
                "quota_override": {"approvers": {"people": [CAROL, BOB]}},
                "quota_base": {"approvers": {"people": [BOB]}},
            },
            "quotas": quotas,
        }
    )


def caller(person: str, channel: str = TEAM_A, team: str | None = "team-a") -> Caller:
    roles = {
        ALICE: {Role.MEMBER},
        BOB: {Role.LEAD, Role.MEMBER, Role.APPROVER},
        CAROL: {Role.ADMIN, Role.APPROVER},
    }[person]
    place = ChannelPlace.APPROVALS if channel == APPROVE else ChannelPlace.TEAM
    place = ChannelPlace.DIRECT if channel.startswith("D") else place
    return Caller("T0QM", person, channel, place, team, frozenset(roles))


def meet(session: Session) -> None:
    for user in (ALICE, BOB, CAROL, DAN):
        session.add(
            Person(
                workspace_id="T0QM",
                user_id=user,
                is_guest=user == DAN,
                is_stranger=False,
                refreshed_at=START,
            )
        )


class FrozenClock(Clock):
    """Stands still until it is moved."""

    def __init__(self) -> None:
        super().__init__()
        self.moment = START

    @override
    def now(self) -> datetime:
        return self.moment
