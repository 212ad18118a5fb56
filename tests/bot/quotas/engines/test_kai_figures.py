"""What is written into KAI's Queues, applied as an API server applies it."""

from copy import deepcopy
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from bot.cluster.api.answers import decode
from bot.cluster.types.kai import Queue
from bot.quotas.engines.kai.quota_fields import patch
from bot.quotas.engines.quota import (
    ANNOTATION,
    BORROWING,
    NOMINAL,
    QuotaAnnotation,
    QuotaField,
    QuotaTarget,
    notes_of,
)
from playground.cluster.objects.errors import ApiError
from playground.cluster.objects.patches import json_patch
from tests.bot.quotas.engines.kai_objects import GPUS, fits_its_definition, queue

US = "0123456789abcdef"
NOTE = QuotaAnnotation(("ov-17",), "4", "12", "2026-11-22T09:00:00+00:00")
QUOTA = QuotaField("team-a", "default", GPUS, NOMINAL)
BURST = QuotaField("team-a", "default", GPUS, BORROWING)


def written(body: Any, place: QuotaField, gpus: str, note: QuotaAnnotation | None = NOTE) -> Any:
    operations = patch(read(body), place, QuotaTarget(Decimal(gpus), note), US)
    return json_patch(deepcopy(body), operations)


def read(body: Any) -> Queue:
    return decode(msgspec.json.encode(body), Queue, "Reading")


def gpu(body: Any) -> Any:
    return body["spec"]["resources"]["gpu"]


@pytest.mark.parametrize(
    ("before", "place", "gpus", "after"),
    [
        ({"quota": 4, "limit": -1}, QUOTA, "12", {"quota": 12, "limit": -1}),
        ({"quota": 4, "limit": 8}, QUOTA, "12", {"quota": 12, "limit": 16}),
        ({"quota": 4, "limit": 0}, QUOTA, "12", {"quota": 12, "limit": 0}),
        ({"quota": 4}, QUOTA, "2.5", {"quota": 2.5}),
        ({"limit": -1, "overQuotaWeight": 4}, QUOTA, "2",
         {"quota": 2, "limit": -1, "overQuotaWeight": 4}),
        (None, QUOTA, "2", {"quota": 2}),
        ({"quota": 4, "limit": 8}, BURST, "12", {"quota": 4, "limit": 16}),
        ({"quota": 4}, BURST, "2", {"quota": 4, "limit": 6}),
    ],
)  # fmt: skip
def test_a_figure_is_written_alone(before: Any, place: QuotaField, gpus: str, after: Any) -> None:
    assert gpu(written(queue("team-a", before), place, gpus)) == after


@pytest.mark.parametrize("limit", [-1, 0, 8])
def test_putting_back_leaves_no_trace(limit: int) -> None:
    before = queue("team-a", {"quota": 4, "limit": limit}, 4)
    changed = written(before, QUOTA, "12")
    assert list(notes_of(read(changed), US)) == [(QUOTA, NOTE)]
    back = written(changed, QUOTA, "4", None)
    assert back["metadata"].pop("annotations") == {}
    assert back == before


@pytest.mark.parametrize(
    ("part", "theirs"), [("quota", 6), ("limit", 20), ("quota", 4.5), ("limit", -1)]
)
def test_a_change_by_others_is_not_overwritten(part: str, theirs: float) -> None:
    body = queue("team-a", {"quota": 4, "limit": 8})
    operations = patch(read(body), QUOTA, QuotaTarget(Decimal(12), NOTE), US)
    gpu(body)[part] = theirs
    with pytest.raises(ApiError):
        json_patch(deepcopy(body), operations)


def test_what_is_absent_is_guarded_by_version() -> None:
    body = queue("team-a", {"quota": 4})
    operations = patch(read(body), QUOTA, QuotaTarget(Decimal(12), None), US)
    gpu(body)["limit"] = 4
    body["metadata"]["resourceVersion"] = "8"
    with pytest.raises(ApiError):
        json_patch(deepcopy(body), operations)


def test_a_changed_status_stops_no_write() -> None:
    body = queue("team-a", {"quota": 4, "limit": 8})
    body["metadata"]["annotations"] = {ANNOTATION: '{"installation": "x", "fields": {}}'}
    operations = patch(read(body), QUOTA, QuotaTarget(Decimal(12), NOTE), US)
    body["metadata"]["resourceVersion"] = "8"
    assert gpu(json_patch(deepcopy(body), operations)) == {"quota": 12, "limit": 16}


def test_kai_takes_what_is_written() -> None:
    fits_its_definition(written(queue("team-a", {"quota": 4, "limit": 8}), QUOTA, "4.5"))
