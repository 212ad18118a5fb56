"""Overrides in front of a Kubernetes API with Kueue behind it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.quotas.tables import OverridePhase
from playground.cluster.story import training_job
from tests.bot.cluster.api.api_server import eventually
from tests.bot.quotas.live import Live, serving_story
from tests.bot.quotas.people import DAY


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with serving_story(tmp_path) as live:
        yield live


def is_admitted(live: Live, job: str) -> bool:
    found = live.world.get("jobs", job, "team-a")
    assert found is not None
    return found["spec"].get("suspend") is False


def test_approved_override_lets_waiting_job_start(live: Live) -> None:
    live.world.set_quota("team-a", "0", field="borrowingLimit")
    live.world.create("jobs", training_job("lane", 12, queue="team-a"), "team-a")
    override_id = live.ask(8)
    assert not is_admitted(live, "lane")
    live.approve(override_id)
    eventually(lambda: is_admitted(live, "lane"))
    eventually(lambda: live.phase(override_id) == OverridePhase.ACTIVE)
    live.later(3 * DAY)
    eventually(lambda: live.phase(override_id) == OverridePhase.ENDED)
    assert live.nominal("team-a") == "4"
    assert is_admitted(live, "lane")


def test_quota_is_put_back_after_restart(live: Live) -> None:
    override_id = live.ask(8)
    live.approve(override_id)
    eventually(lambda: live.nominal("team-a") == "12")
    live.stop()
    live.later(4 * DAY)
    live.start()
    eventually(lambda: live.phase(override_id) == OverridePhase.ENDED)
    assert live.nominal("team-a") == "4"


def test_transfer_and_return_keep_the_sum(live: Live) -> None:
    override_id = live.ask(3, donor="team-b")
    live.approve(override_id)
    eventually(lambda: live.phase(override_id) == OverridePhase.ACTIVE)
    assert (live.nominal("team-a"), live.nominal("team-b")) == ("7", "5")
    live.later(3 * DAY)
    eventually(lambda: live.phase(override_id) == OverridePhase.ENDED)
    assert (live.nominal("team-a"), live.nominal("team-b")) == ("4", "8")


def test_watch_tells_of_external_values_at_once(live: Live) -> None:
    override_id = live.ask(8)
    live.approve(override_id)
    eventually(lambda: live.phase(override_id) == OverridePhase.ACTIVE)
    live.world.set_quota("team-a", "6")
    eventually(live.stopped_because)
    assert live.stopped_because() == (
        "the nominal quota of ClusterQueue team-a (h100) was set to 6 outside Quartermaster; it"
        " should be 12. Nothing was changed."
    )
    assert live.nominal("team-a") == "6"
