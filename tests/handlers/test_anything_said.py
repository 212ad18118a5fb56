"""Whatever people type, they read a sentence of ours, and never that something broke."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from handlers.declared import COMMANDS
from tests.handlers.office import ALICE, BOB, CAROL, ELSEWHERE, ERIN, TEAM_A, TEAM_B, Office, opened
from tests.playground.cluster.served import Served

VERBS = [f"/{command.name} {verb}" for command in COMMANDS for verb in command.verbs]
DASHED = sorted(
    {
        parameter.dashed
        for command in COMMANDS
        for verb in command.verbs.values()
        for parameter in verb.parameters
        if parameter.dashed
    }
)
LIKELY = [
    "lane", "lane#2", "lane#99999999999999999999", "+8", "-8", "12", "0", "1e9", "3d", "999999d",
    "ghcr.io/acme/lane:3.1", "A=b", "TOKEN=x", "A=secret/key", "data:/mnt", "data:/mnt:ro", "64Gi",
    "500m", "-5TiB", "h100", "team-a", "team-b", "nobody", "--", "—", "'", '"', "help", "--help",
    "python", "train.py", "<@U0BOB|bob>", "<#C0TEAMA|team-a>", "<!channel>", "`", "*", "\x00", "é",
    "../../etc", "a" * 3000, "🚀",
]  # fmt: skip
WORDS = some.one_of(some.sampled_from(LIKELY), some.sampled_from(DASHED), some.text(max_size=20))
TEXTS = some.builds(
    lambda verb, words: " ".join([verb, *words]),
    some.one_of(
        some.sampled_from(VERBS), some.sampled_from(["/train", "/quota", "/qm", "/qm train"])
    ),
    some.lists(WORDS, max_size=9),
)
PEOPLE = some.sampled_from([ALICE, BOB, CAROL, ERIN])
PLACES = some.sampled_from([TEAM_A, TEAM_B, ELSEWHERE, "D0DIRECT", "C0APPROVE"])


@pytest.fixture
def quick_office(tmp_path: Path, served: Served) -> Iterator[Office]:
    with opened(tmp_path, f"sqlite:///{tmp_path}/office.db", served) as open_office:
        yield open_office


@pytest.mark.timeout(600)
def test_five_thousand_commands_break_nothing(quick_office: Office) -> None:
    answers: list[str] = []

    @settings(
        max_examples=5000, deadline=None, suppress_health_check=list(HealthCheck), database=None
    )
    @given(PEOPLE, PLACES, TEXTS)
    def say(person: str, place: str, text: str) -> None:
        answer = quick_office.says(person, place, text)
        assert answer
        assert "Something broke" not in answer
        answers.append(answer)

    say()
    assert len(answers) >= 5000
    assert len(set(answers)) > 200
