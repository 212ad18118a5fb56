"""The outcome of work as a finished future: its result or its exception."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def tried(work: Callable[[], T]) -> "Future[T]":
    """Does the work now; what it returned or raised is in the future, which is done."""
    future: Future[T] = Future()
    try:
        future.set_result(work())
    except Exception as error:  # noqa: BLE001  # raised anew where the result is asked for
        future.set_exception(error)
    return future
