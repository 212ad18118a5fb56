"""The outcome of work as a finished future: its result or its exception."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def captured(work: Callable[[], T]) -> "Future[T]":
    """Runs the work now and returns a finished future with its result or exception."""
    future: Future[T] = Future()
    try:
        future.set_result(work())
    except Exception as error:  # noqa: BLE001  # raised again where the result is read
        future.set_exception(error)
    return future
