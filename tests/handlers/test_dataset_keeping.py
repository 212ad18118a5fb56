"""/dataset evict, pin, unpin, extend, touch, keep and usage, as people type and click them."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import select

from bot import holds
from bot.database.database import Session
from bot.datasets.caches.tables import CACHE, Cache, CacheIntent, Orphan
from bot.slack.text import as_text
from tests.bot.datasets.caches.rows import add_cache, add_cached, add_dataset, add_version
from tests.handlers.command_client import (
    ALICE,
    APPROVALS,
    BOB,
    CAROL,
    DATASETS,
    ERIN,
    TEAM_A,
    TEAM_B,
    CommandClient,
    opened,
)
from tests.playground.cluster.served import Served

SETTINGS = f"""\
{DATASETS}  classes: {{standard: {{budget: 1Ti}}, premium: {{}}}}
  default_class: standard
"""
QUESTION = (
    "Evicting `chest-xray@v3` frees 300 GiB of standard. 627,615 files, 250 GB, are"
    " deleted from there. It was last used 2h 10m ago.\n"
    "`/dataset cache chest-xray@v3 --class standard` copies it again. The version and its"
    " manifest stay in the catalogue; the source is not changed.\n"
    "  [Evict]"
)


@pytest.fixture
def client(tmp_path: Path, served: Served) -> Iterator[CommandClient]:
    with opened(tmp_path, f"sqlite:///{tmp_path}/test.db", served, SETTINGS) as opened_client:
        yield opened_client


def cached(client: CommandClient, **more: Any) -> str:
    """A ready cache that was used two hours ago; its id."""

    def work(session: Session) -> str:
        cache = add_cached(session, **more)
        cache.used_at = cache.ready_at = datetime.now(UTC) - timedelta(hours=2, minutes=10)
        cache.keep_seconds = 86_400
        return cache.id

    return client.application.database.transaction(work)


def row(client: CommandClient, cache_id: str) -> Cache:
    return client.application.database.read(lambda session: session.get_one(Cache, cache_id))


def pins(client: CommandClient, cache_id: str) -> dict[str, str]:
    now = datetime.now(UTC)
    found = client.application.database.read(lambda s: holds.on(s, CACHE, cache_id, now))
    return {each.subject_id: each.why for each in found}


def later(client: CommandClient, person: str, channel: str, text: str) -> str:
    """What follows the acknowledgement of a command that looks outside."""
    name, _, words = text.removeprefix("/").partition(" ")
    incoming = client.incoming(person, channel, command=name, words=words)
    reply = client.application.dispatcher.answer(incoming)
    assert reply is not None
    assert reply.later is not None
    return as_text(reply.later())


def test_evicting_asks_with_numbers_first(client: CommandClient) -> None:
    cache_id = cached(client)
    for _ in range(2):  # A question did nothing, so that it may be put again.
        assert later(client, ALICE, TEAM_A, "/dataset evict chest-xray@v3") == QUESTION
    assert row(client, cache_id).wanted == CacheIntent.READY
    assert client.clicks(ALICE, TEAM_A, "dataset.evict", cache_id) == (
        "Evicting `chest-xray@v3` from standard. Its use is checked once more before"
        " anything is deleted.\n`/dataset cache chest-xray@v3 --class standard` caches it again."
    )
    assert row(client, cache_id).wanted == CacheIntent.EVICT
    assert client.clicks(ALICE, TEAM_A, "dataset.evict", cache_id).splitlines()[0] == (
        "chest-xray@v3 on standard is being evicted."
    )


def test_what_is_needed_is_not_offered(client: CommandClient) -> None:
    cache_id = cached(client)
    client.says(ALICE, TEAM_A, '/dataset pin chest-xray@v3 --reason "CVPR deadline" --for 2d')
    assert later(client, ERIN, TEAM_A, "/dataset evict chest-xray").startswith(
        "chest-xray@v3 cannot be evicted from standard."
        f" @{ALICE} has pinned it for another 1d 23h: CVPR"
    )
    assert client.clicks(ERIN, TEAM_A, "dataset.evict", cache_id).startswith(
        "chest-xray@v3 cannot be evicted from standard."
    )


def test_only_the_team_of_a_cache_evicts_it(client: CommandClient) -> None:
    cache_id = cached(client)
    refusal = "chest-xray@v3 on standard was cached by team-a; only that team can evict it."
    assert client.says(BOB, TEAM_B, "/dataset evict chest-xray@v3").splitlines()[0] == refusal
    assert client.clicks(BOB, TEAM_B, "dataset.evict", cache_id).splitlines()[0] == refusal
    assert later(client, CAROL, TEAM_B, "/dataset evict chest-xray@v3") == QUESTION


def test_a_click_counts_for_the_caches_team(client: CommandClient) -> None:
    def work(session: Session) -> str:
        return add_cache(session, add_version(session, add_dataset(session))).id

    cache_id = client.application.database.transaction(work)
    assert client.clicks(BOB, TEAM_B, "dataset.evict", cache_id) == ("This cache was not found.")
    said = client.clicks(CAROL, TEAM_B, "dataset.evict", cache_id)
    assert said.startswith("Evicting `chest-xray@v3` from standard.")
    assert row(client, cache_id).wanted == CacheIntent.EVICT


def test_pins_have_owner_reason_and_end(client: CommandClient) -> None:
    cache_id = cached(client)
    said = client.says(BOB, TEAM_B, '/dataset pin chest-xray@v3 --reason "baseline"').splitlines()
    assert said[1] == "`/dataset unpin chest-xray@v3` removes the pin."
    assert pins(client, cache_id) == {BOB: "baseline"}
    assert client.says(ALICE, TEAM_A, "/dataset unpin chest-xray@v3") == (
        "You have not pinned chest-xray@v3 on standard.\n"
        f"It is pinned by @{BOB}; a lead can add --all."
    )
    assert client.says(ALICE, TEAM_A, "/dataset unpin chest-xray@v3 --all").splitlines() == [
        f"chest-xray@v3 on standard is pinned by @{BOB}.",
        "They, a lead of team-a or an admin can unpin it.",
    ]
    ended = client.says(ERIN, TEAM_A, "/dataset unpin chest-xray@v3 --all")
    assert ended.startswith(f"`chest-xray@v3` on standard is no longer pinned by @{BOB}. Unless")
    assert pins(client, cache_id) == {}


def test_a_pin_needs_a_reason(client: CommandClient) -> None:
    cached(client)
    assert client.says(ALICE, TEAM_A, "/dataset pin chest-xray@v3").splitlines()[0] == (
        "`--reason TEXT` is missing."
    )


def test_extending_counts_from_when_it_goes(client: CommandClient) -> None:
    cache_id = cached(client)
    goes = row(client, cache_id).used_at + timedelta(days=4)
    said = client.says(ALICE, TEAM_A, "/dataset extend chest-xray@v3 3d")
    assert said == (
        "`chest-xray@v3` stays on standard. Unless it is used, it will be evicted"
        f" {goes:%Y-%m-%d %H:%M} UTC."
    )
    assert row(client, cache_id).expires_after == goes


def test_two_clicks_extend_it_once(client: CommandClient) -> None:
    cache_id = cached(client)
    until = int((datetime.now(UTC) + timedelta(days=2)).timestamp())
    for _ in range(2):
        client.clicks(BOB, TEAM_B, "dataset.extend", f"{cache_id} {until}")
    assert row(client, cache_id).expires_after == datetime.fromtimestamp(until, UTC)
    client.clicks(BOB, TEAM_B, "dataset.pin", f"{cache_id} {until}")
    assert pins(client, cache_id) == {BOB: "still needed, pinned when its eviction was announced"}


def test_keeping_holds_for_caches_that_are_there(client: CommandClient) -> None:
    cache_id = cached(client)
    assert client.says(ALICE, TEAM_A, "/dataset keep chest-xray 3d") == (
        "Caches of `chest-xray` are kept 3d after their last use. This also applies to 1"
        " existing cache."
    )
    assert row(client, cache_id).keep_seconds == 3 * 86_400
    client.says(ALICE, TEAM_A, "/dataset keep chest-xray off")
    assert row(client, cache_id).keep_seconds is None
    assert client.says(ALICE, TEAM_A, "/dataset extend chest-xray 3d").splitlines()[0] == (
        "chest-xray@v3 on standard does not expire: it is kept until it is evicted."
    )
    client.says(ALICE, TEAM_A, "/dataset keep chest-xray default")
    assert row(client, cache_id).keep_seconds == 86_400
    assert client.says(BOB, TEAM_B, "/dataset keep chest-xray off").splitlines()[0] == (
        "chest-xray belongs to team-a; only that team can set how long its caches are kept."
    )


def test_touching_withdraws_a_notice(client: CommandClient) -> None:
    cache_id = cached(client)

    def announce(session: Session) -> None:
        cache = session.get_one(Cache, cache_id)
        cache.noticed_at = cache.used_at
        cache.leaves_at = cache.used_at + timedelta(hours=4)

    client.application.database.transaction(announce)
    client.says(ALICE, TEAM_A, "/dataset touch chest-xray@v3")
    cache = row(client, cache_id)
    assert (cache.leaves_at, cache.called_off) == (None, f"<@{ALICE}> has touched it.")


def test_several_caches_must_be_told_apart(client: CommandClient) -> None:
    def work(session: Session) -> None:
        version = add_version(session, add_dataset(session, is_open=True))
        for name in ("standard", "premium"):
            add_cache(session, version, storage_class=name)

    client.application.database.transaction(work)
    assert client.says(ALICE, TEAM_A, "/dataset touch chest-xray").splitlines() == [
        "chest-xray has several caches: chest-xray@v3 on premium, chest-xray@v3 on standard.",
        "Name the version and the class, for example chest-xray@v3 --class premium.",
    ]
    assert client.says(ALICE, TEAM_A, "/dataset touch chest-xray --class gold").splitlines() == [
        "chest-xray is not cached on gold.",
        "It is cached as chest-xray@v3 on premium, chest-xray@v3 on standard.",
    ]
    assert client.says(ALICE, TEAM_A, "/dataset touch chest-xray --class premium").startswith(
        "`chest-xray@v3` stays on premium."
    )


def test_usage_tells_what_is_unknown(client: CommandClient) -> None:
    cached(client)
    lines = client.says(ALICE, TEAM_A, "/dataset usage").splitlines()
    assert lines[0] == "Fast storage for datasets"
    assert lines[1].startswith("chest-xray@v3 on standard (300 GiB): will be evicted in 21h 49m, ")
    assert lines[2] == "  team-a  1 cache, 300 GiB committed, 250 GB of data"
    assert [" ".join(each.split()) for each in lines[-3:]] == [
        "Class Caches Committed Data Free Limit",
        "premium 0 0 bytes 0 bytes unknown unknown",
        "standard 1 300 GiB 250 GB 724 GiB 1 TiB (budget)",
    ]


def test_usage_names_no_datasets_of_others(client: CommandClient) -> None:
    def work(session: Session) -> None:
        add_cache(session, add_version(session, add_dataset(session, "secret-set")))

    client.application.database.transaction(work)
    said = client.says(BOB, TEAM_B, "/dataset usage")
    assert "secret-set" not in said
    assert "Plus 1 cache of other teams' datasets." in said
    assert "secret-set" in client.says(CAROL, APPROVALS, "/dataset usage")


def test_only_admins_remove_what_is_left_over(client: CommandClient) -> None:
    def work(session: Session) -> str:
        orphan = Orphan(
            workspace_id="T0QM",
            cluster="default",
            kind="PersistentVolumeClaim",
            namespace="datasets",
            name="old-1",
            uid="1",
            storage_class="standard",
            size_bytes=100 * 2**30,
            found_at=datetime.now(UTC),
        )
        session.add(orphan)
        return orphan.id

    orphan_id = client.application.database.transaction(work)
    said = client.says(ALICE, TEAM_A, "/dataset usage")
    assert "1 object of datasets is left over and not needed, 100 GiB in total." in said
    assert "old-1" not in said
    assert "PersistentVolumeClaim `datasets/old-1`: 100 GiB on standard." in client.says(
        CAROL, APPROVALS, "/dataset usage"
    )
    assert client.clicks(ALICE, TEAM_A, "dataset.remove_orphan", orphan_id).startswith(
        "This requires the right dataset.clean"
    )
    assert client.clicks(CAROL, APPROVALS, "dataset.remove_orphan", orphan_id).splitlines()[0] == (
        "Removing `datasets/old-1` (PersistentVolumeClaim), unless something needs it."
    )
    wanted = client.application.database.read(lambda s: s.exec(select(Orphan.wanted_by)).one())
    assert wanted == CAROL


def test_lists_and_cards_say_where_it_is_cached(client: CommandClient) -> None:
    cached(client)
    listed = client.says(ALICE, TEAM_A, "/dataset list").splitlines()
    assert "v3 on standard" in listed[2]
    for shown in ("chest-xray", "chest-xray@v3"):
        said = client.says(ALICE, TEAM_A, f"/dataset show {shown}")
        assert "chest-xray@v3 on standard: ready, 300 GiB, for team-a, last used" in said


def test_a_list_names_newest_versions_alone(client: CommandClient) -> None:
    def work(session: Session) -> None:
        dataset = add_dataset(session)
        for name in ("v1", "v2", "v3"):
            add_version(session, dataset, name, digest=f"sha256:{name}")
        add_dataset(session, "imagenet")

    client.application.database.transaction(work)
    listed = client.says(ALICE, TEAM_A, "/dataset list").splitlines()
    assert " ".join(listed[2].split()).startswith("chest-xray team-a v3 and 2 older 627,615 250 GB")
    assert " ".join(listed[3].split()) == "imagenet team-a none yet unknown unknown no"
