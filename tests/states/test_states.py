"""Every state of every card, form and Home: as approved, complete, and with its picture."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any

import pytest
from sqlmodel import SQLModel

from bot.approvals.tables import Approval
from bot.datasets.tables import Version, VersionPhase
from playground.slack.limits import checked_blocks, checked_view
from tests.handlers.command_client import CommandClient
from tests.states import pages
from tests.states.catalogue import Found, all_shown, all_states
from tests.states.forms import with_forms
from tests.states.ground import ground
from tests.states.state import State

WITHOUT_CARD = {(Version, VersionPhase.CHANGED)}
"""A check whether a source has changed has no card."""
HINDRANCES = ("trouble", "obstacle", "is_late")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandClient]:
    with ground(tmp_path_factory.mktemp("states")) as opened:
        yield opened


@pytest.fixture(scope="module")
def states(client: CommandClient) -> list[State]:
    return [each for area in all_states(client).values() for each in area]


@pytest.fixture(scope="module")
def found(client: CommandClient) -> Found:
    return all_shown(client)


def test_all_states_read_as_approved(found: Found) -> None:
    different = [
        path.name
        for path, text in pages.texts(found).items()
        if not path.exists() or path.read_text("utf-8") != text
    ]
    assert different == [], "`make states` writes them again; read the changes before a commit"


def test_texts_are_only_of_areas_there_are(found: Found) -> None:
    assert {each.stem for each in pages.APPROVED.iterdir()} == set(found)


def test_each_state_has_its_own_name(states: list[State]) -> None:
    names = [each.name for each in states]
    assert sorted(set(names)) == sorted(names)


def test_each_kind_of_card_has_states(client: CommandClient, states: list[State]) -> None:
    kinds = {each.kind for each in states} - {"form", "home"}
    assert kinds == set(client.application.renderers())


def test_each_phase_has_a_state(states: list[State]) -> None:
    missing = [
        f"{table.__name__}.{phase.name}"
        for table, rows in by_table(states).items()
        for phase in phases_of(table)
        if (table, phase) not in WITHOUT_CARD and phase not in {row.phase for row in rows}
    ]
    assert missing == [], "each needs a state in tests/states"


def test_each_hindrance_has_a_state(states: list[State]) -> None:
    missing = [
        f"{table.__name__}.{name}"
        for table, rows in by_table(states).items()
        for name in HINDRANCES
        if name in table.model_fields and not any(getattr(row, name) for row in rows)
    ]
    assert missing == [], "each needs a state in tests/states"


def test_each_planned_form_is_also_filled(client: CommandClient, states: list[State]) -> None:
    names = {each.name for each in states}
    planned = [
        f"form-{command.name}-{verb.name}-filled"
        for command, verb in with_forms(client)
        if verb.form.foresee is not None
    ]
    assert [name for name in planned if name not in names] == []


def test_slack_takes_all_states(found: Found) -> None:
    for states in found.values():
        for shown in states.values():
            if shown.kind == "message":
                assert checked_blocks(shown.blocks)
            else:
                assert checked_view(shown.body)


def test_each_state_has_its_picture(found: Found) -> None:
    assert pages.outdated(found) == [], "`make pictures` takes them again"
    assert pages.superfluous(pages.digests(found)) == [], "`make pictures` deletes them"
    assert sorted(pages.kept_digests()) == sorted(pages.digests(found))


def by_table(states: Iterable[State]) -> dict[type[Any], list[Any]]:
    """The rows that cards are about, and the requests for approval, by table."""
    rows: dict[type[Any], list[Any]] = defaultdict(list)
    for state in states:
        for row in state.rows[:1] if state.kind not in {"form", "home"} else ():
            rows[type(row)].append(row)
        for row in state.rows:
            if isinstance(row, Approval):
                rows[Approval].append(row)
    return rows


def phases_of(table: type[SQLModel]) -> list[Any]:
    """All phases of a table whose rows have one."""
    field = table.model_fields.get("phase")
    phases: type[StrEnum] | None = type(field.default) if field is not None else None
    return list(phases) if phases is not None else []
