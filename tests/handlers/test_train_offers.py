"""Runs whose data is not cached: what that costs is said, and one click caches and submits."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import col, select

from bot import holds
from bot.cluster.resources import STORAGE_CLASSES
from bot.database.database import Session
from bot.datasets.caches.tables import CACHE, Cache, CacheIntent
from bot.datasets.tables import Dataset, Version
from bot.training.offers import service
from bot.training.tables import Run, RunOffer
from playground.cluster.story import storage_class
from tests.bot.cluster.api.api_server import eventually
from tests.bot.datasets.caches.rows import DIGEST, add_cache, add_dataset, add_version
from tests.handlers.command_client import ALICE, BOB, ERIN, TEAM_A, TEAM_B, CommandClient, opened
from tests.handlers.test_dataset_caches import SETTINGS
from tests.playground.cluster.served import Served

DIRECT = "D0ALICE"
SUBMIT = (
    "/train submit lane --image ghcr.io/acme/lane:3.1 --gpus 2 --env BATCH_SIZE=33"
    " --data chest-xray:/data -- python train.py"
)
TWO = SUBMIT.replace(" --data", " --data retina@v1:/more --data")
OFFER = """\
Cache chest-xray@v3 and run lane?
chest-xray@v3 is not cached. The run would wait for the copy automatically.
To use other options, such as a layout, cache it first: `/dataset cache chest-xray@v3`.
Nothing has been done yet. This is what it takes:
  Copies      627,615 files, 250 GB (250,000,000,000 bytes)
  Volume      257 GiB on standard
  Free space  2 TiB of 2 TiB (budget in quartermaster.yaml)
  Takes       16h 29m at best, at the throughput of the volume
  Teams       team-a
  Kept        1d after its last use
  [Cache it and run]"""
RECEIPT = [
    "Caching chest-xray@v3 on standard. Its card in this channel follows it.",
    (
        "Submitted run `lane` with 2 GPUs, 16 cores and 144Gi memory (including 16Gi of /dev/shm),"
        " for team-a."
    ),
    "Data: `chest-xray@v3` at /data.",
    "Its card in this channel follows it. `/train stop lane` stops it.",
]


@pytest.fixture
def client(tmp_path: Path, served: Served) -> Iterator[CommandClient]:
    more = SETTINGS + "  static_drivers: [csi.playground]\n"
    with opened(tmp_path, f"sqlite:///{tmp_path}/test.db", served, more) as opened_client:
        opened_client.application.database.transaction(
            lambda session: add_version(session, add_dataset(session, readers=["team-b"]))
        )
        yield opened_client


def do(client: CommandClient, work: Any) -> Any:
    return client.application.database.transaction(work)


def every(client: CommandClient, table: Any) -> list[Any]:
    return list(do(client, lambda s: s.exec(select(table).order_by(col(table.id))).all()))


def offered(client: CommandClient, text: str = SUBMIT, **who: str) -> str:
    """What the button of the answer says, which is the newest offer."""
    client.says(who.get("person", ALICE), who.get("channel", TEAM_A), text)
    return str(every(client, RunOffer)[-1].id)


def clicks(client: CommandClient, offer_id: str, person: str = ALICE, channel: str = TEAM_A) -> str:
    return client.clicks(person, channel, "train.cache", offer_id)


def test_what_is_not_cached_is_offered(client: CommandClient) -> None:
    assert client.says(ALICE, TEAM_A, SUBMIT) == OFFER
    assert (every(client, Run), every(client, Cache)) == ([], [])


def test_asking_again_does_not_ask_why(client: CommandClient) -> None:
    assert [client.says(ALICE, TEAM_A, SUBMIT) for _ in range(2)] == [OFFER, OFFER]


def test_one_click_caches_and_submits(client: CommandClient) -> None:
    assert clicks(client, offered(client)).splitlines() == RECEIPT
    ((cache,), (run,)) = every(client, Cache), every(client, Run)
    (data,) = run.spec["data"]
    assert (data["reference"], data["digest"], data["cache"]) == ("chest-xray@v3", DIGEST, cache.id)
    assert [each.subject_id for each in _held(client, cache)] == [run.id]
    assert run.spec["env"] == [["BATCH_SIZE", "33"]]


def test_the_button_tells_nothing_of_the_run(client: CommandClient) -> None:
    reply = client.application.dispatcher.answer(
        client.incoming(ALICE, TEAM_A, command="train", words=SUBMIT.removeprefix("/train "))
    )
    assert reply is not None
    (button,) = reply.buttons
    (offer,) = every(client, RunOffer)
    assert (button.value, button.action) == (offer.id, "train.cache")
    clicks(client, offer.id)
    (offer,) = every(client, RunOffer)
    assert (offer.spec, offer.plans) == ({}, [])


def test_a_second_click_names_the_run(client: CommandClient) -> None:
    offer_id = offered(client)
    clicks(client, offer_id)
    assert clicks(client, offer_id) == (
        "`lane` was already submitted with this button. `/train show lane` shows it."
    )
    assert (len(every(client, Run)), len(every(client, Cache))) == (1, 1)


def test_a_cache_made_meanwhile_is_used(client: CommandClient) -> None:
    offer_id = offered(client)
    client.says(BOB, TEAM_B, "/dataset cache chest-xray@v3 --yes")
    assert clicks(client, offer_id).splitlines() == [
        "chest-xray@v3 is already being cached on standard.",
        *RECEIPT[1:],
    ]
    (cache,) = every(client, Cache)
    assert (cache.team, cache.teams) == ("team-b", ["team-a"])


def test_a_cache_on_another_class_is_used_too(client: CommandClient) -> None:
    offer_id = offered(client)

    def make(session: Session) -> None:
        add_cache(session, session.exec(select(Version)).one(), storage_class="fast")

    do(client, make)
    assert clicks(client, offer_id).splitlines() == [
        "chest-xray@v3 is already cached on fast.",
        *RECEIPT[1:],
    ]
    ((cache,), (run,)) = every(client, Cache), every(client, Run)
    assert run.spec["data"][0]["cache"] == cache.id


def test_an_old_offer_does_nothing(client: CommandClient) -> None:
    offer_id = offered(client)

    def age(session: Session) -> None:
        session.get_one(RunOffer, offer_id).asked_at -= timedelta(hours=25)

    do(client, age)
    gone = "This offer is out of date. Nothing was done.\nSubmit the run again."
    assert clicks(client, offer_id) == gone
    do(client, lambda s: service.forget(s, client.application.clock.now()))
    assert (every(client, RunOffer), clicks(client, offer_id)) == ([], gone)


def test_others_cannot_take_an_offer(client: CommandClient) -> None:
    offer_id = offered(client)
    assert clicks(client, offer_id, person=ERIN) == (
        f"This was offered to @{ALICE}.\nSubmit a run of your own."
    )
    assert (every(client, Run), every(client, Cache)) == ([], [])


def test_who_left_the_team_takes_no_offer(client: CommandClient, tmp_path: Path) -> None:
    offer_id = offered(client)
    path = tmp_path / "quartermaster.yaml"
    path.write_text(path.read_text().replace("members: {people: [U0ALICE, U0MIA]}", "members: {}"))
    client.application.settings.refresh()
    assert clicks(client, offer_id).splitlines()[0] == ("You are not a member of team-a.")
    assert (every(client, Run), every(client, Cache)) == ([], [])


def test_a_dataset_removed_meanwhile_stops_both(client: CommandClient) -> None:
    offer_id = offered(client)

    def remove(session: Session) -> None:
        session.exec(select(Dataset)).one().removed_at = client.application.clock.now()

    do(client, remove)
    assert clicks(client, offer_id) == "This version is no longer in the catalogue."
    assert (every(client, Run), every(client, Cache)) == ([], [])


def test_a_name_taken_meanwhile_caches_nothing(client: CommandClient) -> None:
    offer_id = offered(client)
    client.says(ALICE, TEAM_A, "/train submit lane --image ghcr.io/acme/lane:3.1")
    assert clicks(client, offer_id).splitlines()[0] == (
        "lane has not ended, and live runs of a team must have different names."
    )
    assert every(client, Cache) == []


def test_a_newer_version_changes_no_offer(client: CommandClient) -> None:
    offer_id = offered(client)

    def newer(session: Session) -> None:
        add_version(session, session.exec(select(Dataset)).one(), "v4", "sha256:b")

    do(client, newer)
    assert clicks(client, offer_id).splitlines() == RECEIPT


def test_two_versions_are_offered_together(client: CommandClient) -> None:
    do(client, lambda s: add_version(s, add_dataset(s, "retina"), "v1", "sha256:b"))
    lines = client.says(ALICE, TEAM_A, TWO).splitlines()
    assert (lines[0], lines[-1]) == (
        "Cache retina@v1 and chest-xray@v3 and run lane?",
        "  [Cache them and run]",
    )
    free = [line for line in lines if "Free space" in line]
    assert [each.split()[2:6] for each in free] == [
        ["2", "TiB", "of", "2"],
        ["1.7", "TiB", "of", "2"],
    ]
    clicks(client, str(every(client, RunOffer)[-1].id))
    assert (len(every(client, Run)), len(every(client, Cache))) == (1, 2)


def test_what_does_not_fit_is_refused(client: CommandClient) -> None:
    def fill(session: Session) -> None:
        other = add_version(session, add_dataset(session, "retina"), "v1", "sha256:b")
        add_cache(session, other).capacity_bytes = 2 * 2**40

    do(client, fill)
    assert client.says(ALICE, TEAM_A, SUBMIT).splitlines() == [
        (
            "chest-xray@v3 is not cached. chest-xray@v3 needs 257 GiB on standard, but"
            " only 0 bytes of 2 TiB are free (budget in quartermaster.yaml)."
        ),
        (
            "`/dataset cache chest-xray@v3` caches it, with other options if needed."
            " `/dataset usage` shows what is cached there and what can be evicted."
        ),
    ]
    assert every(client, RunOffer) == []


def test_a_class_for_one_namespace_is_not_offered(client: CommandClient, served: Served) -> None:
    served.cluster.delete("storageclasses", "standard")
    vendor = storage_class("standard") | {"provisioner": "vendor.csi.acme.example"}
    served.cluster.create("storageclasses", vendor)
    view = client.application.clusters["default"].view

    def is_seen() -> bool:
        found = view.get(STORAGE_CLASSES, "standard")
        return found is not None and found.provisioner == "vendor.csi.acme.example"

    eventually(is_seen)
    assert client.says(ALICE, TEAM_A, SUBMIT).splitlines()[0] == (
        "chest-xray@v3 is not cached. Namespace team-a cannot mount it. Volumes of"
        " storage class standard are from driver vendor.csi.acme.example, which is not"
        " known to let several namespaces"
        " mount one volume."
    )
    assert every(client, RunOffer) == []


def test_a_run_whose_cache_went_is_offered_again(client: CommandClient) -> None:
    clicks(client, offered(client))
    now = client.application.clock.now()

    def end(session: Session) -> None:
        run, cache = session.exec(select(Run)).one(), session.exec(select(Cache)).one()
        run.phase, run.ended_at = "succeeded", now
        cache.wanted, cache.phase, cache.ended_at = CacheIntent.EVICT, "evicted", now

    do(client, end)
    again = client.says(ALICE, TEAM_A, "/train resubmit lane").splitlines()
    assert again[0] == "Cache chest-xray@v3 and run lane?"
    said = clicks(client, str(every(client, RunOffer)[-1].id)).splitlines()
    assert said[1].startswith("Submitted run `lane#2`")


def test_in_a_direct_message_it_works_too(client: CommandClient) -> None:
    offer_id = offered(client, channel=DIRECT)
    assert clicks(client, offer_id, channel=DIRECT).splitlines() == RECEIPT
    assert [each.team for each in every(client, Run)] == ["team-a"]


def _held(client: CommandClient, cache: Cache) -> list[holds.Hold]:
    now = client.application.clock.now()
    return list(do(client, lambda s: holds.on(s, CACHE, cache.id, now)))
