"""Which volumes are not where their PVs say, and whether Trident knows: looked at, and kept."""

from datetime import timedelta

import pytest

from bot.errors import ConflictError
from bot.volumes.records import ClaimPlace, refuse_stale, stale
from playground.arm.trident import HOME
from playground.ledger import Fault
from tests.bot.volumes.rig import CLAIM, Rig

PLACE = ClaimPlace("default", "team-a", CLAIM)


def is_stale(rig: Rig) -> bool:
    return rig.do(lambda s: stale(s, PLACE)) is not None


def test_volume_where_its_pv_says_is_not_noted(rig: Rig) -> None:
    rig.look_at_azure()
    assert rig.known() == []


def test_moved_volume_is_kept_with_all_ids(rig: Rig) -> None:
    told = rig.place
    rig.volume.pool = rig.arm.premium
    rig.look_at_azure()
    found = rig.moved()
    assert found is not None
    assert (found.namespace, found.claim_name) == ("team-a", CLAIM)
    assert (found.told_id, found.recorded_id, found.current_id) == (told, told, rig.place)
    assert (found.is_stale, found.unread, found.seen_at) == (True, "", rig.clock.now())


def test_record_that_names_the_new_id_is_right(rig: Rig) -> None:
    rig.volume.pool = rig.arm.premium
    rig.look_at_azure()
    rig.set_record(rig.place.upper())
    rig.look_at_azure()
    assert rig.known() == [CLAIM]
    assert not is_stale(rig)


def test_empty_id_is_filled_by_trident_itself(rig: Rig) -> None:
    rig.volume.pool = rig.arm.premium
    rig.set_record(None)
    rig.look_at_azure()
    assert not is_stale(rig)


def test_volume_that_came_back_is_forgotten(rig: Rig) -> None:
    rig.volume.pool = rig.arm.premium
    rig.look_at_azure()
    rig.volume.pool = rig.arm.standard
    rig.look_at_azure()
    assert rig.known() == []


def test_record_that_cannot_be_read_counts_as_stale(rig: Rig) -> None:
    rig.volume.pool = rig.arm.premium
    rig.world.forbid("get", "tridentvolumes")
    rig.look_at_azure()
    found = rig.moved()
    assert found is not None
    assert (found.is_stale, found.recorded_id) == (True, "")
    assert found.unread.startswith(f"Reading TridentVolume {rig.pv} in namespace trident on")


def test_volume_without_a_record_counts_as_stale(rig: Rig) -> None:
    rig.volume.pool = rig.arm.premium
    rig.world.patch("tridentvolumes", rig.pv, {"metadata": {"finalizers": None}}, HOME)
    rig.world.delete("tridentvolumes", rig.pv, HOME)
    rig.look_at_azure()
    found = rig.moved()
    assert found is not None
    assert found.unread == f"Trident has no TridentVolume {rig.pv} in namespace trident."


def test_record_that_was_right_outlives_an_outage(rig: Rig) -> None:
    rig.volume.pool = rig.arm.premium
    rig.set_record(rig.place)
    rig.look_at_azure()
    rig.world.forbid("get", "tridentvolumes")
    rig.later(minutes=10)
    rig.look_at_azure()
    assert not is_stale(rig)
    rig.volume.pool = rig.arm.ultra
    rig.later(minutes=10)
    rig.look_at_azure()
    assert is_stale(rig)


def test_outage_of_azure_forgets_nothing(rig: Rig) -> None:
    rig.volume.pool = rig.arm.premium
    rig.look_at_azure()
    rig.arm.ledger.by_name["GET netAppAccounts"] = [Fault.REFUSE, Fault.REFUSE]
    rig.later(hours=5)
    rig.look_at_azure()
    assert is_stale(rig)


def test_later_knowledge_is_not_overwritten(rig: Rig) -> None:
    rig.volume.pool = rig.arm.premium
    rig.look_at_azure()
    found = rig.moved()
    assert found is not None
    found.seen_at, found.is_stale = rig.clock.now() + timedelta(minutes=1), False
    rig.do(lambda s: s.merge(found))
    rig.look_at_azure()
    assert not is_stale(rig)


def test_shared_volume_is_as_stale_as_its_source(rig: Rig) -> None:
    shown = rig.provision("shared", 1024)
    name = shown.name.removeprefix("trident-")
    source = {"config": {"shareSourceVolume": rig.pv}}
    rig.world.patch("tridentvolumes", name, source, HOME)
    shown.pool = rig.volume.pool = rig.arm.premium
    rig.look_at_azure()
    found = rig.moved(name)
    assert found is not None
    assert (found.source, found.is_stale) == (rig.pv, True)
    there = {"config": {"internalID": rig.arm.estate.volume_id(shown)}}
    rig.world.patch("tridentvolumes", rig.pv, there, HOME)
    rig.look_at_azure()
    again = rig.moved(name)
    assert again is not None
    assert not again.is_stale


def test_without_azure_all_is_forgotten(rig: Rig) -> None:
    rig.volume.pool = rig.arm.premium
    rig.look_at_azure()
    rig.policy = rig.policy.model_copy(update={"anf": None})
    rig.look_at_azure()
    assert rig.known() == []


def test_what_needs_trident_is_refused_in_words(rig: Rig) -> None:
    rig.volume.pool = rig.arm.premium
    rig.look_at_azure()
    rig.do(lambda s: refuse_stale(s, PLACE._replace(name="imagenet"), "snapshotted"))
    with pytest.raises(ConflictError) as caught:
        rig.do(lambda s: refuse_stale(s, PLACE, "snapshotted"))
    assert caught.value.message == (
        "The volume of PVC lane-data was moved to pool premium, and Trident does not have its new"
        " id: it cannot be snapshotted now. Pods that use it keep running."
    )
