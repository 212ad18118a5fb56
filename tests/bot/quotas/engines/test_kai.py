"""KAI's Queues and PodGroups as figures, as things that wait, and as standings."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from bot.cluster.api.answers import decode
from bot.cluster.resources import NODES as NODE_RESOURCE
from bot.cluster.types.kai import PodGroup
from bot.config import Team
from bot.quotas.engines.admission import AdmissionPhase, AdmissionState, Blocked, Cause
from bot.quotas.engines.engine import Figures
from bot.quotas.engines.kai.workloads import standing_of
from bot.quotas.replies import status_card
from bot.quotas.status import team_status
from tests.bot.quotas.engines.kai_objects import (
    fits_its_definition,
    node,
    parent,
    pod_group,
    queue,
    seen,
)

NODES = (node("gpu-1"), node("gpu-2"))
A = queue("team-a", {"quota": 4, "limit": -1, "overQuotaWeight": 4}, 6)
B = queue("team-b", {"quota": 8, "limit": 10}, 2)
TOOK = "KAI reclaimed its GPUs for other work by deleting its pods."
FULL = ("PodSchedulingErrors", "no nodes with enough resources were found.")
TEAM = Team.model_validate({"namespace": "team-a", "queue": "team-a"})


def shown(*objects: Any, nodes: Any = NODES) -> list[str]:
    """The rows of /quota status for team-a."""
    card = status_card([team_status(seen(*objects, nodes=nodes), "team-a", TEAM, ())])
    assert card.table is not None
    return [" | ".join(row) for row in card.table.rows]


def figures_of(body: Any) -> Figures:
    found = seen(parent(), body, nodes=NODES).named(body["metadata"]["name"])
    assert found is not None
    return found.figures[0]


def test_a_queue_shows_quota_use_and_surplus() -> None:
    assert figures_of(A) == Figures(
        queue="team-a",
        cohort="research",
        flavor="default",
        nominal=Decimal(4),
        borrowing_limit=None,
        lending_limit=None,
        used=Decimal(6),
        reserved=Decimal(6),
        borrowed=Decimal(2),
        reclaims=True,
    )


@pytest.mark.parametrize(
    ("gpu", "borrowing_limit"),
    [
        ({"quota": 4, "limit": -1}, None),
        ({"quota": 4, "limit": 12}, Decimal(8)),
        ({"quota": 4, "limit": 0}, Decimal(0)),
        ({"quota": 4}, Decimal(0)),
        (None, Decimal(0)),
        ({"quota": 0.5, "limit": 2}, Decimal("1.5")),
    ],
)
def test_a_limit_counts_from_nothing(gpu: Any, borrowing_limit: Decimal | None) -> None:
    assert figures_of(queue("team-a", gpu, 0)).borrowing_limit == borrowing_limit


def test_the_status_reads_as_on_kueue() -> None:
    waiting = pod_group("big", 12, reason=FULL)
    assert shown(parent(), A, B, waiting) == ["default | 4 | 6 | 2 | 8 | 1 (12 GPUs)"]


def test_a_limit_above_caps_what_is_free() -> None:
    assert shown(parent(limit=12, used=8), A, B) == ["default | 4 | 6 | 2 | 4 | 0"]


def test_without_nodes_what_is_free_is_unknown() -> None:
    queues = seen(parent(), A, B)
    own = figures_of(A)
    queues.view.store(NODE_RESOURCE).synced = False
    assert queues.pool(own)[-1].reserved is None


def test_a_queue_nobody_looked_at_is_unknown() -> None:
    new = queue("team-a", {"quota": 4, "limit": -1})
    assert shown(parent(), new, B) == ["default | 4 | unknown | unknown | unknown | 0"]


def test_a_quota_without_limit_is_told() -> None:
    free = queue("team-a", {"quota": -1, "limit": -1}, 3)
    assert shown(parent(), free) == ["default | unlimited | 3 | 0 | 0 | 0"]


def test_each_node_pool_has_its_line() -> None:
    pool = queue("team-a-h100", {"quota": 2, "limit": -1}, 1, pool="h100")
    nodes = (*NODES, node("gpu-3", 4, "h100"))
    waiting = pod_group("x", 1, queue="team-a-h100")
    assert shown(parent(), A, B, pool, waiting, nodes=nodes) == [
        "default | 4 | 6 | 2 | 8 | 1 (1 GPU)",
        "h100 | 2 | 1 | 0 | 2 | ",
    ]


def test_waiting_is_by_priority_then_age() -> None:
    queues = seen(
        parent(),
        A,
        pod_group("late", 1, created="2026-11-21T11:05:00Z"),
        pod_group("early", 2),
        pod_group("urgent", 4, priority="build", created="2026-11-21T11:09:00Z"),
        pod_group("placed", 8, placed=True),
        pod_group("over", 0, started=STARTED),
        pod_group("coming", 0, started=STARTED, evicted=EVICTED),
        pod_group("theirs", 1, queue="team-b"),
    )
    waiting = queues.waiting("team-a")
    assert waiting is not None
    assert [each.name for each in waiting.items] == ["urgent", "early", "late"]
    assert waiting.gpus == 7
    assert [each.name for each in queues.admitted("team-a")] == ["placed"]


STARTED, EVICTED = "2026-11-21T11:00:00Z", "2026-11-21T11:20:00Z"
NOT_YET = Blocked(Cause.NOT_LOOKED_AT)


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        (pod_group("lane", 2), AdmissionState("", AdmissionPhase.WAITING, blocked=NOT_YET)),
        (
            pod_group("lane", 2, reason=("NonPreemptibleOverQuota", "over quota")),
            AdmissionState(
                "", AdmissionPhase.WAITING, blocked=Blocked(Cause.NOT_PREEMPTIBLE, "over quota")
            ),
        ),
        (
            pod_group("lane", 2, reason=("OverLimit", "Limit is 4")),
            AdmissionState("", AdmissionPhase.WAITING, blocked=Blocked(Cause.LIMIT, "Limit is 4")),
        ),
        (
            pod_group("lane", 2, reason=("QueueDoesNotExist", "no queue")),
            AdmissionState("", AdmissionPhase.WAITING, blocked=Blocked(Cause.QUEUE, "no queue")),
        ),
        (
            pod_group("lane", 2, reason=("PreemptionDelayNotElapsed", "not yet")),
            AdmissionState("", AdmissionPhase.WAITING, blocked=Blocked(Cause.DELAY, "not yet")),
        ),
        (
            pod_group("lane", 2, reason=FULL),
            AdmissionState("", AdmissionPhase.WAITING, blocked=Blocked(Cause.QUOTA, FULL[1])),
        ),
        (pod_group("lane", 2, placed=True), AdmissionState("", AdmissionPhase.ADMITTED)),
        (
            pod_group("lane", 0, started=STARTED, evicted=EVICTED),
            AdmissionState("", AdmissionPhase.PREEMPTED, TOOK, blocked=NOT_YET),
        ),
        (
            pod_group("lane", 2, started=EVICTED, evicted=STARTED),
            AdmissionState("", AdmissionPhase.WAITING, blocked=NOT_YET),
        ),
        (
            pod_group("lane", 2, placed=True, started=STARTED, evicted=EVICTED),
            AdmissionState("", AdmissionPhase.ADMITTED),
        ),
    ],
)
def test_a_pod_group_says_how_it_stands(group: Any, expected: AdmissionState) -> None:
    found = standing_of([decode(msgspec.json.encode(group), PodGroup, "Reading")])
    assert found is not None
    assert replace(found, name="", since=None) == expected


def test_the_objects_of_these_tests_are_true() -> None:
    group = pod_group("lane", 2, reason=FULL, started=STARTED, evicted=EVICTED)
    for body in (parent(), A, B, group):
        fits_its_definition(body)
