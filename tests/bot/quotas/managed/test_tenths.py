"""Quotas of a cluster whose queues count tenths of a GPU."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path

import pytest

from bot.quotas.status import TypeStatus
from bot.quotas.tables import OverridePhase
from playground.story.fairness import GPU_TENTHS
from playground.story.shared_gpus import share_gpus
from tests.bot.cluster.api.api_server import eventually
from tests.bot.quotas.live import Live, serving_story
from tests.bot.quotas.people import DAY, settings

TENTHS = {"default": {"fractions": {"units": {"resource": GPU_TENTHS}}}}


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with serving_story(tmp_path) as live:
        share_gpus(live.world)
        live.policy = live.policy.model_validate(settings().model_dump() | {"clusters": TENTHS})
        yield live


def nominal(live: Live) -> str:
    found = live.world.get("clusterqueues", "team-a")
    assert found is not None
    flavor = found["spec"]["resourceGroups"][0]["flavors"][0]
    return str(flavor["resources"][0]["nominalQuota"])


def statuses(live: Live) -> Sequence[TypeStatus]:
    return live.do(lambda s: live.service.status(s, ["team-a"]))[0].types


def test_status_tells_whole_and_part_gpus(live: Live) -> None:
    eventually(lambda: statuses(live) and statuses(live)[0].free_to_borrow == 12)
    figures = statuses(live)[0].figures
    assert (figures.flavor, str(figures.nominal), figures.used) == ("default", "4", Decimal(0))


def test_override_is_written_in_tenths_and_put_back(live: Live) -> None:
    eventually(lambda: statuses(live))
    override_id = live.ask(2)
    live.approve(override_id)
    eventually(lambda: live.phase(override_id) == OverridePhase.ACTIVE)
    assert nominal(live) == "60"
    live.later(3 * DAY)
    eventually(lambda: live.phase(override_id) == OverridePhase.ENDED)
    assert nominal(live) == "40"
