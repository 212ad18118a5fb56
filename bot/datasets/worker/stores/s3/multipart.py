"""Uploads a large object in parts, which become an object only if there is none yet."""

import base64
import contextlib
import hashlib
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.stores.http import RefusedError
from bot.datasets.worker.stores.s3.requests import Requests
from bot.datasets.worker.stores.s3.xml import error_code, etag_of, put_together, upload_id

_PARTS_SENT = 2
_CHECKSUM = "x-amz-checksum-sha256"


class NewObject:
    """An object that is uploaded in parts, but never replaces another one; obstore cannot do that.

    `key` is the full key, with its prefix.
    """

    def __init__(self, requests: Requests, key: str) -> None:
        self._requests: Final = requests
        self._key: Final = key

    def write(self, parts: Iterable[bytes]) -> str:
        """Uploads the parts and returns the ETag; RefusedError (412) if there is an object."""
        asked = {"x-amz-checksum-algorithm": "SHA256"}
        upload = upload_id(self._requests.begin(self._key, asked).body)
        try:
            return self._complete(upload, self._send(upload, parts))
        except BaseException:
            # The store would keep the parts unseen, and charge for them.
            with contextlib.suppress(WorkError):
                self._requests.get(self._key, {"uploadId": upload}, method="DELETE")
            raise

    def _send(self, upload: str, parts: Iterable[bytes]) -> list[tuple[str, str]]:
        """Sends the parts, and returns the ETag and checksum of each."""
        done: list[tuple[str, str]] = []
        going: deque[Future[tuple[str, str]]] = deque()
        with ThreadPoolExecutor(_PARTS_SENT, "part") as pool:
            for number, part in enumerate(parts, 1):
                if len(going) == _PARTS_SENT:
                    done.append(going.popleft().result())
                going.append(pool.submit(self._put, upload, number, part))
            done.extend(each.result() for each in going)
        return done

    def _put(self, upload: str, number: int, part: bytes) -> tuple[str, str]:
        checksum = base64.b64encode(hashlib.sha256(part).digest()).decode()
        query = {"partNumber": str(number), "uploadId": upload}
        answer = self._requests.write("PUT", self._key, query, part, {_CHECKSUM: checksum})
        return answer.headers.get("etag", ""), checksum

    def _complete(self, upload: str, parts: list[tuple[str, str]]) -> str:
        body, only_new = put_together(parts), {"If-None-Match": "*"}
        answer = self._requests.write("POST", self._key, {"uploadId": upload}, body, only_new)
        # S3 answers 200 before it has assembled the parts, and reports an error in the body.
        if code := error_code(answer.body):
            error = RefusedError("store_down", f"The store did not assemble the parts: {code}.")
            error.code = code
            raise error
        return etag_of(answer.body)
