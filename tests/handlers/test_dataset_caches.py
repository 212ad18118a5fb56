"""/dataset cache as people type it; the fills themselves are tested where they are made."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import select

from bot.database.database import Session
from bot.datasets.caches.tables import Cache
from bot.datasets.tables import Version
from tests.bot.datasets.caches.rows import add_dataset, add_version
from tests.handlers.command_client import (
    ALICE,
    BOB,
    CAROL,
    DATASETS,
    ELSEWHERE,
    TEAM_A,
    TEAM_B,
    CommandClient,
    opened,
)
from tests.handlers.filled_forms import foreseen, sent, used
from tests.handlers.filled_forms import opened as form_of
from tests.playground.cluster.served import Served

SETTINGS = DATASETS + "  classes: {standard: {throughput_mib_per_tib: 16, budget: 2Ti}}\n"
ASK = "/dataset cache chest-xray@v3"
BEGUN = "Caching chest-xray@v3 on standard."


@pytest.fixture
def client(tmp_path: Path, served: Served) -> Iterator[CommandClient]:
    with opened(tmp_path, f"sqlite:///{tmp_path}/test.db", served, SETTINGS) as opened_client:
        opened_client.application.database.transaction(
            lambda session: add_version(session, add_dataset(session, readers=["team-b"]))
        )
        yield opened_client


def plan(client: CommandClient, **more: object) -> str:
    """The value of the button under what it costs."""

    def work(session: Session) -> str:
        return session.exec(select(Version)).one().id

    told = {"v": client.application.database.read(work), "c": "standard", "b": 2**40, "t": "team-a"}
    return json.dumps(told | more)


def caches(client: CommandClient) -> list[Cache]:
    return list(client.application.database.read(lambda s: s.exec(select(Cache)).all()))


def test_asking_makes_nothing_and_repeats(client: CommandClient) -> None:
    first = client.says(ALICE, TEAM_A, ASK)
    assert first.splitlines()[:2] == [
        "Cache chest-xray@v3?",
        "Nothing has started yet. Caching it takes:",
    ]
    assert (client.says(ALICE, TEAM_A, ASK), caches(client)) == (first, [])


def test_the_button_makes_what_was_told(client: CommandClient) -> None:
    assert client.clicks(ALICE, TEAM_A, "dataset.cache", plan(client)).splitlines()[0] == BEGUN
    (cache,) = caches(client)
    assert (cache.team, cache.capacity_bytes, cache.person) == ("team-a", 2**40, ALICE)
    assert client.clicks(ALICE, TEAM_A, "dataset.cache", plan(client)).startswith(
        "chest-xray@v3 is already being cached on standard"
    )
    assert len(caches(client)) == 1


def test_whoever_means_it_is_not_asked(client: CommandClient) -> None:
    assert client.says(BOB, TEAM_B, f"{ASK} --yes").splitlines()[0] == BEGUN
    assert [each.team for each in caches(client)] == ["team-b"]


def test_only_clusters_of_the_team_are_taken(client: CommandClient) -> None:
    assert client.says(ALICE, TEAM_A, f"{ASK} --cluster east").splitlines() == [
        "team-a has no cluster east.",
        "It has: default.",
    ]
    assert client.says(ALICE, TEAM_A, f"{ASK} --cluster default --yes").splitlines()[0] == BEGUN
    touched = client.says(ALICE, TEAM_A, "/dataset touch chest-xray@v3 --cluster default")
    assert touched.startswith("`chest-xray@v3` stays on standard.")


def test_a_delivery_that_comes_twice_counts_once(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, f"{ASK} --yes", delivery="one")
    assert client.says(ALICE, TEAM_A, f"{ASK} --yes", delivery="one") == (
        "This was already received. Nothing was done twice."
    )
    assert len(caches(client)) == 1


def test_others_channels_cache_nothing(client: CommandClient) -> None:
    said = client.says(ALICE, ELSEWHERE, ASK)
    assert said.startswith("This channel belongs to no team, so this cannot be used here.")
    assert client.clicks(ALICE, ELSEWHERE, "dataset.cache", plan(client)).startswith("This channel")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            f"{ASK} --size 300",
            ("`--size` takes a size with its unit such as `300Gi` or `2Ti`, or `auto`, not `300`."),
        ),
        (
            f"{ASK} --ttl 3",
            (
                "`--ttl` takes a duration such as `8h` or `3d`, or `off` to keep it"
                " until it is evicted, not `3`."
            ),
        ),
        (
            f"{ASK} --for team_b",
            ("`--for` takes comma-separated teams such as `team-b,team-c`, not `team_b`."),
        ),
        (f"{ASK} --layout imagenet", "There is no layout imagenet."),
        (
            f"{ASK} --size 4Ti",
            (
                "chest-xray@v3 needs 4 TiB on standard, but only 2 TiB of 2 TiB are free"
                " (budget in quartermaster.yaml)."
            ),
        ),
    ],
)
def test_wrong_input_is_explained_in_words(client: CommandClient, typed: str, said: str) -> None:
    assert client.says(ALICE, TEAM_A, typed).splitlines()[0] == said


def test_an_old_button_says_so(client: CommandClient) -> None:
    assert client.clicks(ALICE, TEAM_A, "dataset.cache", "{}") == (
        "This button is out of date.\nRun the command again to see the current cost."
    )


def test_changed_content_is_recorded_by_a_click(client: CommandClient) -> None:
    dataset_id = json.loads(plan(client))["v"]
    found = client.application.database.read(
        lambda session: session.get_one(Version, dataset_id).dataset_id
    )
    assert client.clicks(ALICE, TEAM_A, "dataset.version", found).splitlines()[0] == (
        "Recording `chest-xray@v2`. Its objects are listed, not read."
    )


def test_boosts_take_the_right_to_change_throughput(client: CommandClient) -> None:
    lacking = "This requires the right anf.change, which you do not have here."
    assert client.says(ALICE, TEAM_A, f"{ASK} --boost").startswith(lacking)
    pressed = client.clicks(ALICE, TEAM_A, "dataset.cache", plan(client, o=True))
    assert pressed.startswith(lacking)
    assert client.says(CAROL, TEAM_A, f"{ASK} --boost --yes").splitlines()[0] == (
        "Azure NetApp Files is not configured."
    )
    assert caches(client) == []


def test_a_form_says_what_caching_takes(client: CommandClient) -> None:
    form = form_of(client, "/dataset cache")
    assert [each.name for each in form.fields] == [
        *("reference", "storage_class", "size", "teams", "keep", "layout", "is_meant"),
    ]
    changed = used(client, form, "form-change", fields={"reference": "chest-xray@v3"}).form
    assert changed is not None
    assert foreseen(changed) == [
        "Copies: 627,615 files, 250 GB (250,000,000,000 bytes)",
        "Volume: 257 GiB on standard",
        "Free space: 2 TiB of 2 TiB (budget in quartermaster.yaml)",
        "Takes: 16h 29m at best, at the throughput of the volume",
        "Teams: team-a",
        "Kept: 1d after its last use",
    ]
    large = used(
        client, form, "form-change", fields={"reference": "chest-xray", "size": "4Ti"}
    ).form
    assert large is not None
    assert foreseen(large) == [
        (
            "chest-xray@v3 needs 4 TiB on standard, but only 2 TiB of 2 TiB are free"
            " (budget in quartermaster.yaml)."
        ),
        "`/dataset usage` shows what is cached there and what can be evicted.",
    ]
    assert caches(client) == []


def test_the_form_of_a_cache_that_exists(client: CommandClient) -> None:
    form = form_of(client, "/dataset cache")
    reply = sent(client, form, {"reference": "chest-xray@v3", "is_meant": "yes"})
    assert reply.lines[0] == BEGUN
    [before] = caches(client)
    changed = used(client, form, "form-change", fields={"reference": "chest-xray@v3"}).form
    assert changed is not None
    assert foreseen(changed) == [
        "chest-xray@v3 is already being cached on standard: copying has not started yet."
    ]
    [after] = caches(client)
    assert after.used_at == before.used_at
