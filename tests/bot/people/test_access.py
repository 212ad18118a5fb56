"""Who may do what where; the table below is written by hand, not derived from the code."""

from datetime import UTC, datetime
from functools import partial

import pytest

from bot.config import Circle, Settings, Team
from bot.database.database import Database, Session
from bot.errors import NotAllowedError, NotFoundError
from bot.people.access import Access, ChannelPlace, Right, Role, UnknownPersonError, bound
from bot.people.people import GroupMember, Person
from tests.moments import off_the_minute

NOW = off_the_minute(datetime(2026, 11, 21, 12, 0, tzinfo=UTC))
ALICE, BOB, CAROL, DAN, ERIN = "U0ALICE", "U0BOB", "U0CAROL", "U0DAN", "U0ERIN"
TEAM_A, TEAM_B, APPROVALS, ELSEWHERE, DIRECT = (
    "C0TEAMA", "C0TEAMB", "C0APPROVE", "C0RANDOM", "D0ANY",
)  # fmt: skip
SETTINGS = Settings.model_validate(
    {
        "workspace": "T0QM",
        "admins": {"people": [CAROL]},
        "teams": {
            "team-a": {
                "channels": [TEAM_A],
                "members": {"people": [ALICE, DAN]},
                "namespace": "team-a",
                "local_queue": "team-a",
            },
            "team-b": {
                "channels": [TEAM_B],
                "members": {"groups": ["S0TEAMB"]},
                "leads": {"people": [BOB]},
                "namespace": "team-b",
                "local_queue": "team-b",
            },
        },
        "approvals": {"channel": APPROVALS, "quota_override": {"approvers": {"people": [CAROL]}}},
    }
)

# right: what Alice (member of team-a), Bob (lead of team-b) and Carol (admin, approver) may do
# in: #team-a, #team-b, a direct message, #gpu-approvals, any other channel.
MATRIX = {
    #                       Alice    Bob      Carol
    Right.RUN_SUBMIT:      ("a.d..", ".bd..", "abd.."),
    Right.RUN_SUBMIT_COSTLY: (".....", ".bd..", "abd.."),
    Right.RUN_READ:        ("a.d..", ".bd..", "abd.."),
    Right.RUN_STOP:        ("a.d..", ".bd..", "abd.."),
    Right.RUN_STOP_ANY:    (".....", ".bd..", "abd.."),
    Right.GPU_READ:        ("a.d..", ".bd..", "abdp."),
    Right.QUOTA_READ:      ("a.d..", ".bd..", "abdp."),
    Right.QUOTA_REQUEST:   ("a.d..", ".bd..", "abd.."),
    Right.QUOTA_REVOKE_ANY: (".....", ".bd..", "abdp."),
    Right.QUOTA_SET:       (".....", ".....", "abdp."),
    Right.TEAM_READ:       ("a.d..", ".bd..", "abdp."),
    Right.TEAM_CHANGE:     (".....", ".....", "abdp."),
    Right.DATASET_READ:    ("a.d..", ".bd..", "abd.."),
    Right.DATASET_ADD:     ("a.d..", ".bd..", "abd.."),
    Right.DATASET_VERSION: ("a.d..", ".bd..", "abd.."),
    Right.DATASET_REMOVE:  ("a.d..", ".bd..", "abd.."),
    Right.DATASET_REMOVE_ANY: (".....", ".bd..", "abd.."),
    Right.DATASET_CACHE:   ("a.d..", ".bd..", "abd.."),
    Right.DATASET_PUSH:    ("a.d..", ".bd..", "abd.."),
    Right.DATASET_EVICT:   ("a.d..", ".bd..", "abd.."),
    Right.DATASET_PIN:     ("a.d..", ".bd..", "abd.."),
    Right.DATASET_UNPIN_ANY: (".....", ".bd..", "abd.."),
    Right.DATASET_USAGE:   ("a.d..", ".bd..", "abdp."),
    Right.DATASET_CLEAN:   (".....", ".....", "abdp."),
    Right.PVC_READ:        ("a.d..", ".bd..", "abd.."),
    Right.PVC_RESIZE:      (".....", ".bd..", "abd.."),
    Right.PVC_COPY:        (".....", ".bd..", "abd.."),
    Right.PVC_DELETE:      (".....", ".bd..", "abd.."),
    Right.ANF_READ:        ("a.d..", ".bd..", "abd.."),
    Right.ANF_POOLS:       (".....", ".bd..", "abdp."),
    Right.ANF_CHANGE:      (".....", ".bd..", "abd.."),
    Right.ANF_REPAIR:      (".....", ".....", "abdp."),
    Right.ANF_POOL_CHANGE: (".....", ".....", "abdp."),
    Right.SNAPSHOT_READ:   ("a.d..", ".bd..", "abd.."),
    Right.SNAPSHOT_CREATE: ("a.d..", ".bd..", "abd.."),
    Right.SNAPSHOT_RESTORE: ("a.d..", ".bd..", "abd.."),
    Right.SNAPSHOT_DELETE_ANY: (".....", ".bd..", "abd.."),
    Right.GPU_DIGEST:      ("a.d..", ".bd..", "abdpx"),
    Right.GPU_DIGEST_POST: (".....", ".bd..", "abdpx"),
    Right.GPU_DIGEST_SET:  (".....", ".....", "abdpx"),
    Right.DECIDE:          (".....", ".....", "abdpx"),
    Right.VOTE: ("abdpx", "abdpx", "abdpx"),
    Right.NOTICES: ("abdpx", "abdpx", "abdpx"),
    Right.BREAK_GLASS:     (".....", ".....", "abdp."),
    Right.WHOAMI: ("abdpx", "abdpx", "abdpx"),
    Right.STATUS:          ("a.d..", ".bd..", "abdpx"),
    Right.AUDIT_READ:      (".....", ".bd..", "abdp."),
}  # fmt: skip
CHANNELS = {"a": TEAM_A, "b": TEAM_B, "d": DIRECT, "p": APPROVALS, "x": ELSEWHERE}


def person(user: str, *, guest: bool = False, stranger: bool = False) -> Person:
    return Person(
        workspace_id="T0QM",
        user_id=user,
        is_guest=guest,
        is_stranger=stranger,
        refreshed_at=NOW,
    )


@pytest.fixture
def access(database: Database) -> Access:
    def work(session: Session) -> None:
        session.add_all([person(ALICE), person(BOB), person(CAROL), person(DAN, guest=True)])
        session.add(person("U0FAR", stranger=True))

    database.transaction(work)
    return Access(lambda: SETTINGS)


def may(database: Database, access: Access, user: str, channel: str, right: Right) -> bool:
    return database.read(lambda session: access.caller(session, user, channel).may(right))


def test_the_permission_matrix_holds_everywhere(database: Database, access: Access) -> None:
    assert set(MATRIX) == set(Right)
    found = {
        right: tuple(
            "".join(
                letter if may(database, access, user, channel, right) else "."
                for letter, channel in CHANNELS.items()
            )
            for user in (ALICE, BOB, CAROL)
        )
        for right in Right
    }
    assert found == MATRIX


@pytest.mark.parametrize("user", [DAN, "U0FAR"])
def test_guests_and_strangers_are_refused_everywhere(
    database: Database, access: Access, user: str
) -> None:
    for channel in CHANNELS.values():
        with pytest.raises(NotAllowedError) as caught:
            database.read(partial(access.caller, person=user, channel=channel))
        assert caught.value.message == (
            "Guests and people from other workspaces cannot use Quartermaster."
        )


def test_the_unknown_are_asked_about_first(database: Database, access: Access) -> None:
    with pytest.raises(UnknownPersonError) as caught:
        database.read(lambda session: access.caller(session, ERIN, TEAM_A))
    assert (caught.value.message, caught.value.hint) == (
        "Checking who you are.",
        "Try again in a few seconds.",
    )


def test_a_user_group_makes_its_people_members(database: Database, access: Access) -> None:
    def join(session: Session) -> None:
        session.add(person(ERIN))
        session.add(GroupMember(workspace_id="T0QM", group_id="S0TEAMB", user_id=ERIN))

    database.transaction(join)
    caller = database.read(lambda session: access.caller(session, ERIN, DIRECT))
    assert (caller.team, caller.roles, caller.place) == (
        "team-b",
        frozenset({Role.MEMBER}),
        ChannelPlace.DIRECT,
    )


def test_only_people_of_the_team_read_its_runs(database: Database, access: Access) -> None:
    """In their direct messages: guests do not, whatever the settings say, nor who is unknown."""

    def readers(session: Session) -> set[tuple[str, str]]:
        people = (ALICE, BOB, CAROL, DAN, ERIN, "U0NEW")
        teams = ("team-a", "team-b", "team-c")
        return {(who, team) for who in people for team in teams
                if access.may_read(session, who, team)}  # fmt: skip

    admin = {(CAROL, "team-a"), (CAROL, "team-b")}
    assert database.read(readers) == admin | {(ALICE, "team-a"), (BOB, "team-b")}
    member = GroupMember(workspace_id="T0QM", group_id="S0TEAMB", user_id=ALICE)
    database.transaction(lambda session: session.add(member))
    assert (ALICE, "team-b") in database.read(readers)


def test_refusals_say_where_it_would_work(database: Database, access: Access) -> None:
    def refused(user: str, channel: str, right: Right) -> str:
        caller = database.read(lambda session: access.caller(session, user, channel))
        with pytest.raises(NotAllowedError) as caught:
            access.require(caller, right)
        return f"{caught.value.message} {caught.value.hint}"

    assert refused(ALICE, TEAM_B, Right.RUN_SUBMIT) == (
        "You are not a member of team-b."
        " Ask a platform admin to add you to the team, or use your own team's channel."
    )
    assert refused(ALICE, ELSEWHERE, Right.RUN_SUBMIT) == (
        "This channel belongs to no team, so this cannot be used here."
        " Use it in your team's channel: <#C0TEAMA>, <#C0TEAMB>."
    )
    assert refused(ALICE, TEAM_A, Right.QUOTA_SET) == (
        "This requires the right quota.set, which you do not have here. Roles with this right:"
        " admin."
    )


def test_teams_can_be_named_with_the_right(database: Database, access: Access) -> None:
    caller = database.read(lambda s: access.caller(s, ALICE, DIRECT, team="team-b"))
    assert not caller.may(Right.RUN_SUBMIT)
    assert access.require_team(caller) == ("team-b", Team.model_validate(
        {
            "channels": [TEAM_B],
            "members": Circle(groups=("S0TEAMB",)),
            "leads": Circle(people=(BOB,)),
            "namespace": "team-b",
            "local_queue": "team-b",
        }
    ))  # fmt: skip


def test_an_unknown_team_is_named_with_the_known(database: Database, access: Access) -> None:
    with pytest.raises(NotFoundError) as caught:
        database.read(lambda session: access.caller(session, ALICE, TEAM_A, team="nope"))
    assert (caught.value.message, caught.value.hint) == (
        "There is no team nope.",
        "The teams are: team-a, team-b.",
    )


def test_no_team_is_acted_for_in_foreign_channels(database: Database, access: Access) -> None:
    with pytest.raises(NotAllowedError) as caught:
        database.read(lambda session: access.caller(session, ALICE, TEAM_B, team="team-a"))
    assert (caught.value.message, caught.value.hint) == (
        "This channel belongs to team-b, and you are not a member of it.",
        "Use your own team's channel or a direct message.",
    )
    admin = database.read(lambda session: access.caller(session, CAROL, TEAM_B, team="team-a"))
    assert admin.may(Right.RUN_READ)


def test_a_team_is_taken_to_named_clusters() -> None:
    several = SETTINGS.teams["team-a"].model_copy(update={"clusters": ("lab", "default")})
    usual = several.on("lab")
    assert bound("team-a", usual, None).cluster == "lab"
    there = bound("team-a", usual, "default")
    assert (there.cluster, there.reach) == ("default", ("lab", "default"))
    with pytest.raises(NotFoundError) as caught:
        bound("team-a", usual, "attic")
    assert (caught.value.message, caught.value.hint) == (
        "team-a has no cluster attic.",
        "It has: lab, default.",
    )
