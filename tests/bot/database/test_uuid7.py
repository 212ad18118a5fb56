"""Ids of rows sort by when they were made, and no two are alike."""

import time
from concurrent.futures import ThreadPoolExecutor
from uuid import RFC_4122

from bot.database.columns import new_id
from bot.database.uuid7 import Uuid7

MANY = 2000


def test_an_id_holds_when_it_was_made() -> None:
    before = time.time_ns() // 1_000_000
    made = Uuid7()()
    assert before <= made.int >> 80 <= time.time_ns() // 1_000_000 + 1
    assert (made.version, made.variant) == (7, RFC_4122)


def test_later_ids_sort_behind_earlier_ones() -> None:
    ids = [new_id() for _ in range(MANY)]
    assert ids == sorted(set(ids))


def test_threads_never_get_the_same_id() -> None:
    make = Uuid7()
    with ThreadPoolExecutor(4) as pool:
        ids = list(pool.map(lambda _: make(), range(MANY)))
    assert len({each.hex for each in ids}) == len({each.int >> 32 for each in ids}) == MANY
