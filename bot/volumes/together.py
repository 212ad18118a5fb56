"""Reads several subscriptions at once, so that none waits for another."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from threading import Lock
from typing import TypeVar

from bot.errors import StorageError
from bot.threads import in_thread
from bot.volumes.deadline import Deadline
from bot.volumes.resources import Estate, Unread

T = TypeVar("T")
_LATE = "Azure has not answered an earlier request yet."


class Together:
    """Reads each subscription in a thread of its own.

    One that was given up is not asked again before that request has ended, so that no more threads
    wait for it than reads began at once.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._late: dict[str, Future[Estate]] = {}

    def read(
        self, subscriptions: Sequence[str], read: Callable[[str], Estate], deadline: Deadline
    ) -> Estate:
        """All that answered before the deadline; raises StorageError if none did."""
        begun = {each: self._begin(each, read) for each in subscriptions}
        found: list[Estate] = []
        failed: dict[str, StorageError] = {}
        for subscription, future in begun.items():
            try:
                found.append(self._result(subscription, future, deadline))
            except StorageError as error:
                failed[subscription] = error
        unread = tuple(Unread(each, error.message, error.hint) for each, error in failed.items())
        if not found:
            raise _all(unread, failed.values())
        return Estate(
            tuple(_each(found, lambda estate: estate.pools)),
            tuple(_each(found, lambda estate: estate.volumes)),
            unread,
        )

    def _begin(self, subscription: str, read: Callable[[str], Estate]) -> "Future[Estate] | None":
        with self._lock:
            late = self._late.get(subscription)
            if late is not None and not late.done():
                return None
            self._late.pop(subscription, None)
        return in_thread(partial(read, subscription))

    def _result(
        self, subscription: str, future: "Future[Estate] | None", deadline: Deadline
    ) -> Estate:
        if future is None:
            raise StorageError(_LATE, "Azure is slow at the moment. Try again later.")
        try:
            return future.result(deadline.left_seconds)
        except TimeoutError:
            with self._lock:
                self._late[subscription] = future
            raise deadline.passed() from None


def _all(unread: Sequence[Unread], errors: Iterable[StorageError]) -> StorageError:
    """The error of all subscriptions, with the longest pause that Azure asks for."""
    told = list(errors)
    return StorageError(
        " ".join(each.sentence for each in unread),
        unread[0].hint,
        status=told[0].status,
        code=told[0].code,
        retry_after_seconds=max(each.retry_after_seconds for each in told),
    )


def _each(found: Iterable[Estate], part: Callable[[Estate], Iterable[T]]) -> Iterator[T]:
    for estate in found:
        yield from part(estate)
