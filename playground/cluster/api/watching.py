"""Watches: a stream of changes from a version on, with bookmarks."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from playground.cluster.api.answers import Call
from playground.cluster.api.paths import Target
from playground.cluster.api.reading import raw_or_shown, selector_of
from playground.cluster.inside import Inside
from playground.cluster.objects.conversion import kept_as
from playground.cluster.objects.errors import ApiError, bad_request, expired
from playground.cluster.objects.kinds import Object
from playground.cluster.objects.store import Change, Entry

Send = Callable[[Any], Awaitable[None]]
Receive = Callable[[], Awaitable[Any]]
DEFAULT_SECONDS = 1800


class Watch:
    """One stream. It collects changes from any thread and is drained in its event loop."""

    def __init__(self, inside: Inside, target: Target, call: Call, bookmark_seconds: float) -> None:
        self._inside = inside
        self._target = target
        self._call = call
        self._bookmark_seconds = bookmark_seconds
        self._kind = kept_as(target.kind)
        self._selects = selector_of(target, call)
        self._lines: deque[bytes] = deque()
        self._woken = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._seen = inside.store.version
        self._limit = float(call.query.get("timeoutSeconds") or DEFAULT_SECONDS)
        self.is_cut = False
        self._begin()
        inside.store.listeners.append(self._heard)

    async def run(self, receive: Receive, send: Send) -> None:
        """Sends changes until the client goes, the time is up or the stream is cut."""
        gone = asyncio.ensure_future(_disconnected(receive))
        end = self._loop.time() + self._limit
        try:
            while not gone.done() and not self.is_cut:
                await self._drain(send)
                left = end - self._loop.time()
                if left <= 0:
                    break
                if not await self._wait(gone, min(left, self._bookmark_seconds)):
                    self._bookmark()
            if not self.is_cut:
                await self._drain(send)
        finally:
            self.close()
            gone.cancel()

    def close(self) -> None:
        """Collects no more."""
        with self._inside.lock:
            if self._heard in self._inside.store.listeners:
                self._inside.store.listeners.remove(self._heard)

    def cut(self) -> None:
        """Ends the stream in the middle."""
        self.is_cut = True
        self._wake()

    def end(self) -> None:
        """Ends the stream after what it has to say now."""
        self._limit = 0.0

    def expire(self, asked: int) -> None:
        """Ends the stream with 410 Gone inside it, as real servers do."""
        error = expired(self._inside.store.version, asked)
        self._lines.append(_line(b"ERROR", orjson.dumps(error.status())))

    def _begin(self) -> None:
        version = self._call.query.get("resourceVersion", "")
        if not version.isdigit() and version:
            raise _bad_version(version)
        initial = self._call.query.get("sendInitialEvents", "").lower() in {"1", "true"}
        if version in {"", "0"} or initial:
            for entry in self._inside.store.entries(self._kind, self._target.namespace):
                if self._selects(entry.obj) and self._named(entry.obj):
                    self._append(b"ADDED", entry)
            if initial:
                self._bookmark(end_of_initial=True)
            return
        missed = self._inside.store.changes_after(self._kind.qualified, int(version))
        if missed is None:
            self.expire(int(version))
            self.end()
            return
        for change in missed:
            self._take(change)

    def _heard(self, change: Change) -> None:
        self._seen = change.version
        if change.kind == self._kind.qualified and self._take(change):
            self._wake()

    def _take(self, change: Change) -> bool:
        space = self._target.namespace
        if (space and change.key[0] != space) or not self._named(change.obj):
            return False
        was = change.before is not None and self._selects(change.before)
        now = change.type != "DELETED" and self._selects(change.obj)
        word = _WORDS[was, now]
        if word is not None:
            self._append(word, change.after)
        return word is not None

    def _named(self, obj: Object) -> bool:
        return not self._target.name or obj["metadata"]["name"] == self._target.name

    def _append(self, word: bytes, entry: Entry) -> None:
        now = self._inside.loop.present
        self._lines.append(_line(word, raw_or_shown(self._target, self._call, entry, now)))

    def _bookmark(self, *, end_of_initial: bool = False) -> None:
        allowed = self._call.query.get("allowWatchBookmarks", "").lower() in {"1", "true"}
        if not allowed:
            return
        metadata: dict[str, Any] = {
            "resourceVersion": str(self._seen),
            "creationTimestamp": None,
        }
        if end_of_initial:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        kind = self._target.kind
        body = {
            "kind": kind.kind,
            "apiVersion": kind.in_version(self._target.version),
            "metadata": metadata,
        }
        self._lines.append(_line(b"BOOKMARK", orjson.dumps(body)))

    def _wake(self) -> None:
        self._loop.call_soon_threadsafe(self._woken.set)

    async def _wait(self, gone: "asyncio.Future[None]", limit: float) -> bool:
        """Whether something came before the limit."""
        if self._lines:
            return True
        woken: asyncio.Future[Any] = asyncio.ensure_future(self._woken.wait())
        either: set[asyncio.Future[Any]] = {woken, gone}
        done, _ = await asyncio.wait(either, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        woken.cancel()
        self._woken.clear()
        return bool(done)

    async def _drain(self, send: Send) -> None:
        while self._lines:
            lines = []
            while self._lines:
                lines.append(self._lines.popleft())
            body = b"".join(lines)
            await send({"type": "http.response.body", "body": body, "more_body": True})


_WORDS: dict[tuple[bool, bool], bytes | None] = {
    (False, True): b"ADDED",
    (True, True): b"MODIFIED",
    (True, False): b"DELETED",
    (False, False): None,
}


def _line(word: bytes, raw: bytes) -> bytes:
    return b'{"type":"' + word + b'","object":' + raw + b"}\n"


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _bad_version(version: str) -> ApiError:
    return bad_request(
        f'resourceVersion: Invalid value: "{version}": strconv.ParseUint: parsing "{version}": '
        "invalid syntax"
    )
