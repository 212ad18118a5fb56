import hashlib
import os
from pathlib import Path

import pytest

from bot.datasets.worker.parts import PART_BYTES, etag, part_bytes

GIB = 1 << 30


@pytest.mark.parametrize(
    ("size", "expected"),
    [(0, PART_BYTES), (78 * GIB, PART_BYTES), (79 * GIB, 9 << 20), (5 << 40, 525 << 20)],
)
def test_parts_are_never_too_many(size: int, expected: int) -> None:
    assert part_bytes(size) == expected
    assert -(-size // expected) <= 10_000


@pytest.mark.parametrize("size", [0, 1, PART_BYTES])
def test_etag_of_one_part_is_md5(tmp_path: Path, size: int) -> None:
    content = os.urandom(size)
    (tmp_path / "file").write_bytes(content)
    with (tmp_path / "file").open("rb") as file:
        assert etag(file.fileno(), size) == hashlib.md5(content).hexdigest()  # noqa: S324
