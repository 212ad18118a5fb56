"""Whatever people say and click, they read a sentence of ours, and change what they may alone."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import Session
from typing_extensions import override

from bot.commands.dispatcher import CommandDispatcher
from bot.commands.questions import Asked as AskedFor
from bot.people.access import Access, Caller, Right
from bot.slack.card import Reply
from bot.slack.markup import plain
from bot.slack.receiving.incoming import Incoming
from handlers.options import OPTIONS
from handlers.threads import OBJECTS
from tests.fuzz.acts import CANARY
from tests.fuzz.fuzzed import BATCH, Fuzzed, fuzzed
from tests.fuzz.judge import Asked, Change, wrongs
from tests.handlers.command_client import ALICE, BOB, CAROL, DAN, ERIN, FAY, MIA, CommandClient
from tests.handlers.furnished import furnished
from tests.playground.cluster.served import Runner, Served
from tests.seeds import fuzz_batches, fuzz_seed


@pytest.fixture
def world(runner: Runner) -> Iterator[Served]:
    with Served(runner).serving() as running:
        yield running


@pytest.mark.slow
@pytest.mark.timeout(20_000)
def test_random_acts_break_and_forge_nothing(
    request: pytest.FixtureRequest, tmp_path: Path, world: Served
) -> None:
    batches, seed = fuzz_batches(request.config, BATCH), fuzz_seed(request.config)
    print(f"seed {seed}, {len(batches)} batches of {BATCH}")  # noqa: T201  # shown by make fuzz
    with fuzzed(tmp_path, world, seed) as fuzz:
        for number in batches:
            fuzz.batch(number)
    figures = fuzz.figures
    print(figures)  # noqa: T201  # as above
    assert figures.acts == len(batches) * BATCH
    if len(batches) > 1:
        assert min(figures.clicks, figures.commands) > figures.acts / 4
        assert figures.changes > figures.acts / 30


# The judge itself can say no.


class Lenient(Access):
    """Lets everybody do everything."""

    @override
    def require(self, caller: Caller, right: Right, *, by_team: bool = False) -> None:
        """Nothing."""


class Breaking(CommandDispatcher):
    """Breaks where somebody asks for their runs."""

    @override
    def _reply(self, session: Session, incoming: Incoming, asked: AskedFor) -> Reply:
        if "list" in incoming.words:
            raise RuntimeError("a mistake of ours")
        return super()._reply(session, incoming, asked)


class Parrot(CommandDispatcher):
    """Says what it was told, secret or not."""

    @override
    def _reply(self, session: Session, incoming: Incoming, asked: AskedFor) -> Reply:
        return Reply((plain(f"{incoming.words} {CANARY}"),))


class Silent(CommandDispatcher):
    """Has nothing to say where somebody asks for something to be done."""

    @override
    def _once(self, session: Session, question: Any) -> Reply | None:
        return None


def made(
    client: CommandClient, kind: type[CommandDispatcher] = CommandDispatcher
) -> CommandDispatcher:
    app = client.application
    return kind(app.database, app.clock, app.registry, app.services, OBJECTS, OPTIONS)


def lenient(client: CommandClient) -> CommandDispatcher:
    app = client.application
    services = replace(app.services, access=Lenient(app.settings))
    return CommandDispatcher(app.database, app.clock, app.registry, services, OBJECTS, OPTIONS)


@pytest.mark.parametrize(
    ("broken", "wrong"),
    [
        (lenient, r"of no team|of \{'team-[ab]'\}|an admin's|a lead's"),
        (lambda client: made(client, Breaking), "Something went wrong"),
        (lambda client: made(client, Parrot), "it says ghp_"),
        (lambda client: made(client, Silent), "no answer"),
    ],
)
def test_dispatchers_that_fail_people_are_found(
    broken: Callable[[CommandClient], CommandDispatcher], wrong: str, tmp_path: Path, world: Served
) -> None:
    def all_batches(bad: Fuzzed) -> None:
        for number in range(10):
            bad.batch(number)

    with (
        furnished(tmp_path, world) as found,
        closing(Fuzzed(found, 1, broken(found.client))) as bad,
        pytest.raises(AssertionError, match=wrong),
    ):
        all_batches(bad)


OWN = {"id": "1", "team": "team-a", "person": ALICE}


@pytest.mark.parametrize(
    ("person", "change", "wrong"),
    [
        (ALICE, Change("runs", OWN, OWN), ""),
        (ERIN, Change("runs", OWN, OWN), ""),
        (CAROL, Change("runs", OWN, OWN), ""),
        (MIA, Change("runs", None, OWN), ""),
        (MIA, Change("runs", OWN, OWN), "of {'U0ALICE'}"),
        (MIA, Change("runs", OWN, None), "of {'U0ALICE'}"),
        (BOB, Change("runs", OWN, OWN), "of {'team-a'}"),
        (BOB, Change("dataset_caches", OWN, OWN), ""),
        (BOB, Change("dataset_caches", OWN, {**OWN, "evict_by": BOB}), "of {'team-a'}"),
        (DAN, Change("messages", None, {"id": "2"}), "of no team"),
        (FAY, Change("notice_choices", None, {"person": FAY}), ""),
        (FAY, Change("notice_choices", None, {"person": MIA}), "somebody else's choice"),
        (ALICE, Change("volume_changes", None, OWN), "a lead's"),
        (ERIN, Change("managed_quotas", {"id": "3"}, {"id": "3"}), "an admin's"),
        (CAROL, Change("votes", None, {"approval_id": "4", "person": CAROL}), ""),
        (ERIN, Change("votes", None, {"approval_id": "4", "person": ERIN}), "no approver's vote"),
        (ALICE, Change("votes", None, {"approval_id": "4", "person": ALICE}), "own request"),
    ],
)
def test_judge_knows_whose_each_change_is(person: str, change: Change, wrong: str) -> None:
    said = wrongs(person, [change], lambda _id: Asked(ALICE, "quota_override", breaks_glass=False))
    assert wrong in said
    assert bool(wrong) == bool(said)
