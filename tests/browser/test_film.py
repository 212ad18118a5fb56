"""The film of README: as long, wide and light as it has to be."""

import struct
from collections.abc import Iterator

from tests.browser.conftest import HERE
from tests.browser.film import HEIGHT, SCALE, WIDTH

FILM = HERE.parents[1] / "docs" / "images" / "playground.webp"
MOST_BYTES = 2_500_000


def chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The parts of a WebP file with their names."""
    at = 12
    while at < len(content):
        name, length = struct.unpack_from("<4sI", content, at)
        yield name, content[at + 8 : at + 8 + length]
        at += 8 + length + length % 2


def test_film_lasts_twenty_seconds_and_loads_fast() -> None:
    content = FILM.read_bytes()
    assert content[:4] + content[8:12] == b"RIFFWEBP"
    parts = list(chunks(content))
    durations = [int.from_bytes(part[12:15], "little") for name, part in parts if name == b"ANMF"]
    assert 15_000 <= sum(durations) <= 25_000
    assert len(content) <= MOST_BYTES
    canvas = dict(parts)[b"VP8X"]
    size = [int.from_bytes(canvas[at : at + 3], "little") + 1 for at in (4, 7)]
    assert size == [SCALE * WIDTH, SCALE * HEIGHT]
