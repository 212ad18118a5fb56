"""Pictures of states can be taken: none is blank, and none is cut off."""

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.states.catalogue import all_states
from tests.states.ground import ground, shown
from tests.states.pictures import Photographer, photographer
from tests.states.state import Shown

SOME = ("run-waiting", "approval-pending", "digest-of-a-day", "form-train-submit-errors",
        "home-with-runs")  # fmt: skip


@pytest.fixture(scope="module")
def some(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Shown]:
    with ground(tmp_path_factory.mktemp("states")) as client:
        states = {each.name: each for area in all_states(client).values() for each in area}
        return {name: shown(client, states[name]) for name in SOME}


@pytest.fixture
def camera(chromium: str, tmp_path: Path) -> Iterator[Photographer]:
    with photographer(chromium, tmp_path) as found:
        found.open()
        yield found


def test_pictures_show_all_of_each_state(camera: Photographer, some: dict[str, Shown]) -> None:
    for name in SOME:
        taken = camera.picture(some[name])
        width, height = size_of(taken)
        lines, bytes_each = height / 19, len(taken) / (width * height)
        blocks = len(some[name].blocks)
        assert 400 < width < 700, (name, width)
        assert lines > blocks, (name, height, blocks)
        assert bytes_each > BLANK, (name, bytes_each)
        assert camera.is_whole, name


BLANK = 0.01
"""A picture in which nothing is written has fewer bytes for each of its points."""


def size_of(webp: bytes) -> tuple[int, int]:
    """The width and height of a WebP file."""
    assert webp[:4] == b"RIFF"
    assert webp[8:12] == b"WEBP"
    if webp[12:16] == b"VP8X":
        wide, high = (int.from_bytes(webp[at : at + 3], "little") + 1 for at in (24, 27))
        return wide, high
    assert webp[12:16] == b"VP8 "
    wide, high = struct.unpack("<HH", webp[26:30])
    return wide & 0x3FFF, high & 0x3FFF
