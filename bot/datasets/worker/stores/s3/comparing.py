"""Compares files with objects of an S3-compatible store: by MD5, by stored checksum, by size."""

import base64
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from bot.datasets.manifest import Entry
from bot.datasets.worker.checksums import (
    ALGORITHMS,
    Algorithm,
    etag_of_parts,
    new_md5,
    of_file,
    of_parts,
)
from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.stores.comparing import Kind, has_md5
from bot.datasets.worker.stores.s3.requests import Requests
from bot.datasets.worker.stores.s3.splits import Splits

_IN_PARTS = re.compile(r"[0-9a-f]{32}-([1-9][0-9]{0,4})")
_OF_PARTS = re.compile(r"([A-Za-z0-9+/=]+)-([1-9][0-9]{0,4})")
# With these kinds of encryption, the ETag looks like an MD5 but is not one.
_OWN_KEYS = ("aws:kms", "aws:kms:dsse")


class S3Comparison:
    """Compares files with the objects below a prefix; thread-safe.

    With `are_ours` the objects are those that this worker pushes.
    """

    def __init__(self, requests: Requests, prefix: str, *, are_ours: bool) -> None:
        self._requests: Final = requests
        self._prefix: Final = prefix
        self._splits: Final = Splits(requests, prefix, are_ours=are_ours)
        self._lock: Final = threading.Lock()
        self._differed: Final = dict[str, str]()
        self._has_odd_etags = self._has_usual_etags = False

    def compared(self, entry: Entry, descriptor: int, found: str = "") -> Kind | None:
        """The method by which the file is verified as the object; None if it differs."""
        if has_md5(entry) and (found or of_file(descriptor, new_md5).hex()) == entry.etag:
            return "md5"
        headers = self._told(entry)
        has_own_keys = _has_own_keys(headers)
        if has_md5(entry) and not has_own_keys:
            return None
        kind = self._by_checksum(entry, descriptor, headers)
        if kind == "size" and not has_own_keys and not self._has_odd_etags:
            kind = self._by_etag(entry, descriptor)
        return kind

    def _by_checksum(
        self, entry: Entry, descriptor: int, headers: Mapping[str, str]
    ) -> Kind | None:
        """Compares the stored checksums: that of the whole object first, then that of its parts."""
        stored = [(headers[name], new) for name, new in ALGORITHMS.items() if headers.get(name)]
        for checksum, new in stored:
            if "-" not in checksum and headers.get("x-amz-checksum-type") != "COMPOSITE":
                is_same = base64.b64encode(of_file(descriptor, new)).decode() == checksum
                return "checksum" if is_same else None
        for checksum, new in stored:
            if of := _OF_PARTS.fullmatch(checksum):
                same = partial(_is_of_parts, descriptor, new, checksum)
                return self._by_parts(entry, int(of[2]), same, "checksum")
        return "size"

    def _by_etag(self, entry: Entry, descriptor: int) -> Kind | None:
        """Compares a multipart ETag: the MD5 of the parts' MD5s, as in all but a few stores."""
        of = _IN_PARTS.fullmatch(entry.etag)
        if of is None:
            return "size"
        found: list[str] = []

        def is_same(sizes: Sequence[int]) -> bool:
            found.append(etag_of_parts(descriptor, sizes))
            return found[-1] == entry.etag

        kind = self._by_parts(entry, int(of[1]), is_same, "md5")
        self._has_usual_etags |= kind == "md5"
        return kind if kind is not None else self._differing(entry.key, found[-1])

    def _differing(self, key: str, found: str) -> Kind | None:
        """Accepts by size what is read twice alike: then the store's ETags are not MD5s."""
        with self._lock:
            before = self._differed.pop(key, None)
            if before == found:
                self._has_odd_etags = not self._has_usual_etags
                return "size"
            self._differed[key] = found
            return None

    def _by_parts(
        self, entry: Entry, count: int, is_same: Callable[[Sequence[int]], bool], kind: Kind
    ) -> Kind | None:
        checked: list[Sequence[int]] = []
        for split in self._splits.of(entry, count):
            if split.sizes not in checked:
                if is_same(split.sizes):
                    return kind
                checked.append(split.sizes)
            if split.is_certain:
                return None
        return "size"

    def _told(self, entry: Entry) -> Mapping[str, str]:
        query = {} if entry.version_id is None else {"versionId": entry.version_id}
        try:
            answer = self._requests.head(
                self._prefix + entry.key, query, {"x-amz-checksum-mode": "ENABLED"}
            )
        except WorkError as error:
            if error.reason == "store_down":
                raise
            return {}
        return answer.headers


def _is_of_parts(descriptor: int, new: Algorithm, checksum: str, sizes: Sequence[int]) -> bool:
    return of_parts(descriptor, sizes, new) == checksum


def _has_own_keys(headers: Mapping[str, str]) -> bool:
    return (
        headers.get("x-amz-server-side-encryption", "") in _OWN_KEYS
        or "x-amz-server-side-encryption-customer-algorithm" in headers
    )
