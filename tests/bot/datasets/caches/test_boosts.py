"""A volume gets more throughput while it is filled, and is put back however the fill ends."""

import pytest

from bot.approvals import Verdict
from bot.datasets.caches.answers import CacheFound, CacheOffer
from bot.datasets.caches.fills import fills_on
from bot.datasets.caches.replies import offered
from bot.datasets.caches.tables import CachePhase
from bot.errors import UserError
from bot.slack.text import as_text
from bot.volumes.changes.service import ChangeButton
from bot.volumes.changes.tables import ChangeKind
from bot.volumes.changes.tables import ChangePhase as Change
from bot.volumes.matching import claimed
from playground.ledger import Fault
from tests.bot.datasets.caches.boosting import Boosting, settings_of
from tests.bot.datasets.caches.rows import SIZE
from tests.bot.ground import ERIN

SET = "PATCH volumes"


def mibps(boosting: Boosting) -> float:
    found = boosting.volume()
    assert found is not None
    return found.throughput


def test_question_says_what_a_boost_does(boosting: Boosting) -> None:
    offer = boosting.offer()
    assert isinstance(offer, CacheOffer)
    assert as_text(offered(offer)).splitlines() == [
        "Cache chest-xray@v3?",
        "Nothing has started yet. Caching it takes:",
        "  Copies      627,615 files, 250 GB (250,000,000,000 bytes)",
        "  Volume      257 GiB on azurenetappfiles",
        "  Free space  2 TiB of 2 TiB (pool tuned)",
        (
            "  Takes       59m 18s at best with the boost;"
            " without it 16h 29m at best, at the throughput of the volume"
        ),
        "  Boost       4 MiB/s → about 67 MiB/s (pool tuned) until it is filled, then put back",
        "  Bill        unchanged: no pool changes its size",
        "  Teams       team-a",
        "  Kept        1d after its last use",
        "  [Cache it]",
    ]


def test_boost_lasts_as_long_as_the_fill(boosting: Boosting) -> None:
    boosting.fills(seconds=600)
    cache_id = boosting.boost()
    assert boosting.boost_told(cache_id) == "starts when its volume exists"
    boosting.pass_time(minutes=2)
    assert mibps(boosting) == 73
    assert boosting.boost_told(cache_id) == "16 MiB/s → 73 MiB/s until it is filled"
    assert boosting.change_card(cache_id).splitlines() == [
        (
            f"✅ datasets/{boosting.found(cache_id).claim_name} to 73 MiB/s for the fill of"
            " chest-xray@v3 · Active"
        ),
        "  Throughput    16 MiB/s → 73 MiB/s",
        "  Cost          unchanged: no pool changes its size",
        "  Until         chest-xray@v3 is filled, or no longer has to be",
        "  Requested by  Erin in #C0TEAMA",
        "  [Revert now]",
        f"Change `{boosting.change(cache_id).number}`",
    ]
    boosting.pass_time(minutes=15)
    assert boosting.found(cache_id).phase == CachePhase.READY
    assert mibps(boosting) == 16
    assert boosting.boost_told(cache_id) == "16 MiB/s → 73 MiB/s while it was filled; reverted."
    assert boosting.change(cache_id).phase == Change.RETURNED
    assert boosting.asked_of_azure() == [SET, SET]


def test_failed_fill_ends_its_boost(boosting: Boosting) -> None:
    said = {"event": "failed", "reason": "changed", "message": "It changed.", "hint": "Again."}
    boosting.fills(seconds=150, last=said, code=1)
    cache_id = boosting.boost()
    boosting.pass_time(minutes=2)
    assert mibps(boosting) == 73
    boosting.pass_time(minutes=10)
    assert boosting.found(cache_id).phase == CachePhase.FAILED
    assert boosting.change(cache_id).phase == Change.RETURNED


def test_evicted_fill_ends_its_boost(boosting: Boosting) -> None:
    boosting.fills(seconds=1000)
    cache_id = boosting.boost()
    boosting.pass_time(minutes=2)
    boosting.evict(cache_id)
    boosting.pass_time(minutes=10)
    assert boosting.found(cache_id).phase == CachePhase.EVICTED
    assert boosting.change(cache_id).phase == Change.RETURNED


@pytest.mark.parametrize("fault", [Fault.KILL_BEFORE, Fault.KILL_AFTER])
def test_boosts_outlive_kills_at_every_request(boosting: Boosting, fault: Fault) -> None:
    turns = (1, 2) if fault is Fault.KILL_AFTER else (1, 3)
    boosting.arm.ledger.by_turn = {(SET, turn): fault for turn in turns}
    boosting.fills(seconds=600)
    cache_id = boosting.boost()
    boosting.pass_time(minutes=5)
    assert (boosting.deaths, mibps(boosting)) == (1, 73)
    boosting.pass_time(minutes=15)
    assert (boosting.deaths, mibps(boosting)) == (2, 16)
    assert boosting.found(cache_id).phase == CachePhase.READY
    assert boosting.change(cache_id).phase == Change.RETURNED
    assert len(boosting.arm.app.routes.operations.all) == 2
    lost = 1 if fault is Fault.KILL_BEFORE else 0
    assert boosting.asked_of_azure() == [SET] * (max(turns) + lost)


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_lost_answers_boost_nothing_twice(boosting: Boosting, fault: Fault) -> None:
    boosting.arm.ledger.by_turn = {(SET, turn): fault for turn in (1, 3)}
    boosting.fills(seconds=600)
    cache_id = boosting.boost()
    boosting.pass_time(minutes=7)
    assert mibps(boosting) == 73
    boosting.pass_time(minutes=9)
    assert (boosting.found(cache_id).phase, mibps(boosting)) == (CachePhase.READY, 16)
    assert boosting.change(cache_id).phase == Change.RETURNED
    assert len(boosting.arm.app.routes.operations.all) == 2


def test_fill_waits_for_no_approval(boosting: Boosting) -> None:
    boosting.has(settings_of(boosting.arm, approve="always"))
    offer = boosting.offer()
    assert isinstance(offer, CacheOffer)
    assert as_text(offered(offer)).splitlines()[2] == (
        "@U0CAROL or @U0BOB must approve the boost; the fill does not wait for the approval."
    )
    cache_id = boosting.boost()
    boosting.pass_time(minutes=10)
    assert boosting.found(cache_id).phase == CachePhase.READY
    assert boosting.boost_told(cache_id) == "none. The fill ended before the boost started."
    assert boosting.change_card(cache_id).splitlines()[:2] == [
        (
            f"⏹️ datasets/{boosting.found(cache_id).claim_name} to 73 MiB/s for the fill of"
            " chest-xray@v3 · Withdrawn"
        ),
        "Void: what it was for has ended.",
    ]
    assert boosting.asked_of_azure() == []


def test_approved_boost_begins_amid_the_fill(boosting: Boosting) -> None:
    boosting.has(settings_of(boosting.arm, approve="always"))
    boosting.fills(seconds=1000)
    cache_id = boosting.boost()
    boosting.pass_time(minutes=5)
    assert boosting.boost_told(cache_id) == "waiting for approval: 16 MiB/s → 73 MiB/s"
    boosting.vote(cache_id)
    boosting.pass_time(minutes=2)
    assert mibps(boosting) == 73
    boosting.pass_time(minutes=15)
    assert (boosting.found(cache_id).phase, mibps(boosting)) == (CachePhase.READY, 16)


def test_denied_boost_leaves_the_fill_alone(boosting: Boosting) -> None:
    boosting.has(settings_of(boosting.arm, approve="always"))
    boosting.fills(seconds=1000)
    cache_id = boosting.boost()
    boosting.pass_time(minutes=5)
    boosting.vote(cache_id, Verdict.DENY)
    boosting.pass_time(minutes=15)
    assert boosting.boost_told(cache_id) == "none. It was denied."
    assert boosting.found(cache_id).phase == CachePhase.READY
    assert boosting.asked_of_azure() == []


def test_boosted_volume_is_not_changed_by_hand(boosting: Boosting) -> None:
    boosting.fills(seconds=1000)
    cache_id = boosting.boost()
    boosting.pass_time(minutes=2)
    (of,) = claimed(boosting.cluster, "datasets")[0]
    asked = ChangeButton("team-a", "default", of.claim.name, ChangeKind.THROUGHPUT, mibps=100)
    with pytest.raises(UserError) as caught:
        boosting.do(lambda session: boosting.changes.check(session, asked, of))
    assert (caught.value.message, caught.value.hint) == (
        (
            f"<@U0ERIN> requested a boost of this volume: {of.claim.name} to 73 MiB/s for the"
            " fill of chest-xray@v3. It is reverted when that fill has ended."
        ),
        "Request it again then. The card in <#C0TEAMA> can end the boost earlier.",
    )
    row = boosting.change(cache_id)
    by = boosting.caller(ERIN)
    now = boosting.clock.now()
    boosting.do(lambda session: boosting.changes.give_back(session, by, session.merge(row), now))
    boosting.pass_time(minutes=2)
    assert mibps(boosting) == 16
    assert boosting.found(cache_id).phase == CachePhase.FILLING
    boosting.offer()
    boosting.pass_time(minutes=2)
    assert mibps(boosting) == 73


def test_boost_joins_a_fill_under_way(boosting: Boosting) -> None:
    boosting.fills(seconds=1000)
    cache_id = boosting.begin(boosting.ask(ERIN), ERIN).cache.id
    boosting.pass_time(minutes=5)
    assert mibps(boosting) == 16
    claim = boosting.found(cache_id).claim_name
    (fill,) = boosting.do(lambda session: fills_on(session, "default", "datasets", claim))
    assert (fill.what, 0 < fill.left_bytes < SIZE) == ("chest-xray@v3", True)
    assert isinstance(boosting.offer(), CacheFound)
    boosting.pass_time(minutes=2)
    assert mibps(boosting) == 73
    boosting.pass_time(minutes=15)
    assert (boosting.found(cache_id).phase, mibps(boosting)) == (CachePhase.READY, 16)
    assert boosting.do(lambda session: fills_on(session, "default", "datasets", claim)) == ()


def test_change_by_hand_stands_against_a_boost(boosting: Boosting) -> None:
    boosting.fills(seconds=1000)
    cache_id = boosting.begin(boosting.ask(ERIN), ERIN).cache.id
    boosting.pass_time(minutes=5)
    (of,) = claimed(boosting.cluster, "datasets")[0]
    asked = ChangeButton(
        "team-a", "default", of.claim.name, ChangeKind.THROUGHPUT, mibps=100, seconds=300
    )
    by, now = boosting.caller(ERIN), boosting.clock.now()
    boosting.do(lambda session: boosting.changes.begin(session, by, asked, of, now))
    boosting.pass_time(minutes=2)
    boosting.offer()
    boosting.pass_time(minutes=1)
    assert boosting.boost_told(cache_id).startswith(
        "none. @U0ERIN requested another change of this volume:"
    )
    boosting.pass_time(minutes=5)
    assert mibps(boosting) == 100
    boosting.pass_time(minutes=15)
    assert (boosting.found(cache_id).phase, mibps(boosting)) == (CachePhase.READY, 16)
