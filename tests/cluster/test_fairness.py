"""The fairness story on Kueue itself, with fair sharing on and weights equal to the quotas."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import pytest
from typing_extensions import override

from playground import scenarios
from playground.story import fairness
from playground.story.fairness import GPU_TENTHS, QUOTAS, STAGES, TENTHS, Stage, works
from tests.cluster.api import Object
from tests.cluster.bots import RealStory, opened_story
from tests.cluster.control_plane import ControlPlane
from tests.cluster.site import CLUSTER_QUEUES, FLAVORS, WORKLOADS, Site


@dataclass(frozen=True)
class AdmissionPhase:
    """How the queues stand: GPUs by team, and whose Workloads wait."""

    allocated: dict[str, int]
    waits: frozenset[str]


@dataclass
class Notes:
    """How the queues stood whenever everything was at rest."""

    plane: ControlPlane
    stands: list[AdmissionPhase] = field(default_factory=list)

    def look(self) -> None:
        """Notes how they stand now."""
        waits = [each for each in self.plane.api.list(WORKLOADS) if not _is_admitted(each)]
        names = {each["metadata"]["ownerReferences"][0]["name"] for each in waits}
        known = {name for name in works() for made in names if made.startswith(f"{name}-")}
        used = {team: self._used(team) for team in QUOTAS}
        self.stands.append(AdmissionPhase(used, frozenset(known)))

    def _used(self, team: str) -> int:
        queue = self.plane.api.get(CLUSTER_QUEUES, team) or {}
        (flavor,) = queue["status"]["flavorsUsage"]
        (resource,) = flavor["resources"]
        return int(Decimal(resource["total"]) / TENTHS)


class WatchedStory(RealStory):
    """A story that has the queues noted at each of its rests."""

    notes: Notes

    @override
    async def rest(self) -> None:
        await super().rest()
        await asyncio.to_thread(self.notes.look)


def _is_admitted(workload: Object) -> bool:
    conditions = workload.get("status", {}).get("conditions", ())
    return any(each["type"] == "Admitted" and each["status"] == "True" for each in conditions)


@pytest.fixture
def four_teams(plane: ControlPlane, site: Site) -> Iterator[None]:
    """Sixteen GPUs in tenths on one node, where four together always have room."""
    told = {key: fairness.CONFIGURATION[key] for key in ("fairSharing", "resources")}
    plane.kueue.configure(**told)
    gpus = sum(fairness.NODES.values())
    site.add_node("dgx1-1", gpus, more={GPU_TENTHS: str(gpus * TENTHS)})
    site.add(FLAVORS, {"metadata": {"name": fairness.FLAVOR}, "spec": {}})
    body = {"metadata": {"name": fairness.INTERACTIVE}, "value": 1000}
    site.add("workloadpriorityclasses.kueue.x-k8s.io", body)
    for team in QUOTAS:
        site.add_namespace(team)
        site.add_queue(fairness.cluster_queue(team))
        site.let_bot_into(team)
    yield
    site.close()
    plane.kueue.configure()


@pytest.mark.usefixtures("four_teams")
def test_queues_stand_as_the_guide_says(plane: ControlPlane, tmp_path: Path) -> None:
    notes = Notes(plane)
    asyncio.run(_played(plane, tmp_path, notes))
    assert [each.allocated for each in notes.stands[: len(STAGES)]] == [
        dict(stage.allocated) for stage in STAGES
    ]
    for phase, stage in zip(notes.stands, STAGES, strict=False):
        _assert_waits(phase, stage)


def _assert_waits(phase: AdmissionPhase, stage: Stage) -> None:
    undecided = {name for pair in stage.either for name in pair}
    assert phase.waits - undecided == set(stage.waits), stage.section
    assert all(len(phase.waits & set(pair)) == 1 for pair in stage.either), stage.section


async def _played(plane: ControlPlane, out: Path, notes: Notes) -> None:
    scenario = scenarios.named("fairness")
    async with opened_story(plane, out, setup=scenario.setup, telling=WatchedStory) as story:
        assert isinstance(story, WatchedStory)
        story.notes = notes
        await scenario.play(story)
        await story.ends()
