"""Fills a bucket: `python -m benchmarks.rig.upload ENDPOINT BUCKET COUNTS`; keys by environment.

COUNTS is JSON: how many objects of each size in bytes. They go into folders of five hundred. A
process of its own, because the memory of one that starts programs counts as theirs.
"""

import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from obstore.store import S3Store

_UPLOADS = 16
_PARTS_FROM_BYTES = 5 << 20


def _objects(counts: dict[str, int]) -> Iterator[tuple[str, int]]:
    number = 0
    for size, count in counts.items():
        for _ in range(count):
            yield f"{number // 500:04}/{number:07}.bin", int(size)
            number += 1


def main() -> None:
    """Uploads what is asked for."""
    endpoint, bucket, counts = sys.argv[1:]
    options = {"allow_http": True, "timeout": "10m"}
    store = S3Store(bucket, endpoint=endpoint, client_options=options)  # type: ignore[arg-type]

    def put(one: tuple[str, int]) -> None:
        key, size = one
        store.put(key, os.urandom(size), use_multipart=size > _PARTS_FROM_BYTES)

    with ThreadPoolExecutor(_UPLOADS) as pool:
        list(pool.map(put, _objects(json.loads(counts))))


if __name__ == "__main__":
    main()
