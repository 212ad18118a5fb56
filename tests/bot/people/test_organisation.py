"""People of other workspaces of the organisation are colleagues; no one else from outside is."""

from dataclasses import replace

import pytest

from bot.config import Circle
from bot.errors import NotAllowedError
from bot.people import people
from bot.people.access import Access, Role
from playground.slack.people import ORGANISATION, PARTNER, SISTER, User
from tests.bot.people.test_directory import Directory, directory, is_out, is_shared
from tests.bot.slack.conftest import slack, stage
from tests.playground.slack.served import GRACE, Served

__all__ = ["directory", "slack", "stage"]

COLLEAGUE = User("W0NEW", "new", "New Here", team_id=SISTER, organisation=ORGANISATION)


@pytest.fixture(autouse=True)
def grid(slack: Served) -> None:
    """Comes before the directory, whose client serves the organisation."""
    slack.grow_into_organisation()


def roles(directory: Directory, person: str) -> frozenset[Role]:
    """What the configuration grants, if this person is a member of team-a in it."""
    settings = directory.settings
    team = settings.teams["team-a"].model_copy(update={"members": Circle(people=(person,))})
    named = settings.model_copy(update={"teams": {"team-a": team}})
    access = Access(lambda: named)
    return directory.database.read(lambda s: access.caller(s, person, "C0TEAMA").roles)


def test_colleagues_have_what_is_configured(directory: Directory) -> None:
    assert directory.meet(GRACE) is not None
    assert directory.meet("U0ALICE") is not None
    assert not is_out(directory, GRACE)
    assert roles(directory, GRACE) == roles(directory, "U0ALICE") == {Role.MEMBER}


@pytest.mark.parametrize(
    "user",
    [
        replace(COLLEAGUE, organisation="E0GLOBEX"),
        replace(COLLEAGUE, organisation=""),
        replace(COLLEAGUE, team_id=PARTNER, organisation="", is_stranger=True),
        replace(COLLEAGUE, is_stranger=True),
        replace(COLLEAGUE, is_restricted=True),
        replace(COLLEAGUE, is_ultra_restricted=True),
        replace(COLLEAGUE, deleted=True),
        replace(COLLEAGUE, team_id="", organisation=""),
    ],
)
def test_others_are_refused_even_when_configured(
    slack: Served, directory: Directory, user: User
) -> None:
    slack.workspace.users[user.id] = user
    assert directory.meet(user.id) is not None
    with pytest.raises(NotAllowedError) as refused:
        roles(directory, user.id)
    assert (refused.value.message, refused.value.hint) == (
        "Guests and people from other workspaces cannot use Quartermaster.",
        "Ask a full member of the team to do this for you.",
    )


def test_people_may_belong_to_the_organisation_alone(slack: Served, directory: Directory) -> None:
    slack.workspace.users[COLLEAGUE.id] = replace(COLLEAGUE, team_id="")
    assert directory.meet(COLLEAGUE.id) is not None
    assert not is_out(directory, COLLEAGUE.id)


def test_groups_are_those_of_the_workspace(slack: Served, directory: Directory) -> None:
    slack.workspace.groups["S0ADMINS"].users.append(GRACE)
    assert directory.read_group() == {"U0CAROL", GRACE}
    assert slack.workspace.refusals == []


@pytest.mark.parametrize("is_outside", [False, True])
def test_only_other_companies_make_channels_shared(
    slack: Served, directory: Directory, *, is_outside: bool
) -> None:
    assert slack.workspace.channels["C0TEAMA"].is_org_shared
    slack.workspace.channels["C0TEAMA"].is_ext_shared = is_outside
    directory.look_at("C0TEAMA")
    known = directory.database.read(lambda s: s.get_one(people.Channel, ("T0QM", "C0TEAMA")))
    assert known.refreshed_at is not None
    assert is_shared(directory) is is_outside
