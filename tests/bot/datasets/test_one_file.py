"""Where one file is counted, people read `1 file`."""

from typing import Any

import pytest

from bot.datasets.caches.evictions.notices import evict_button
from bot.datasets.caches.lifecycle.replies import question
from bot.datasets.caches.reads import Consequence
from bot.datasets.caches.tables import Cache
from bot.datasets.fsx.answers import Task
from bot.datasets.fsx.tasks import failure, progress
from bot.slack.text import as_text
from tests.bot.ground import START


def cache(objects: int) -> Cache:
    fields: dict[str, Any] = {"reference": "faces@v1", "storage_class": "standard"}
    sizes: dict[str, Any] = {"size_bytes": 1000, "capacity_bytes": 2**30}
    return Cache(objects=objects, used_at=START, **fields, **sizes)


@pytest.mark.parametrize(
    ("objects", "is_imported", "said"),
    [
        (1, False, "1 file, 1.0 kB, is deleted from there."),
        (2, False, "2 files, 1.0 kB, are deleted from there."),
        (1, True, "1 file, 1.0 kB, is released, and its name stays."),
    ],
)
def test_evicting_one_file_is_one_file(objects: int, said: str, *, is_imported: bool) -> None:
    found = Consequence((), is_imported=is_imported)
    assert said in as_text(question(cache(objects), found, str, START))
    confirm = evict_button(cache(objects)).confirm
    assert confirm is not None
    assert f"Deletes 1.0 kB in {said.partition(',')[0]} and frees 1 GiB" in confirm.text


def test_a_task_of_one_file_is_singular() -> None:
    going = Task("task-1", "EXPORT", "EXECUTING", total=1, succeeded=1)
    assert progress(going) == "task-1 is EXECUTING, 1 of 1 file"
    failed = Task("task-1", "EXPORT", "FAILED", total=1, failed=1, why="No.")
    assert failure(failed) == "FSx task task-1 failed. 1 of 1 file failed. No."
