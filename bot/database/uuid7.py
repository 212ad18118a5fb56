"""UUIDv7 (RFC 9562) for versions of Python whose `uuid` has none."""

import threading
import time
from secrets import randbits
from uuid import UUID

_COUNTER_BITS, _TAIL_BITS = 42, 32


class Uuid7:
    """Makes ids, each greater than those made before it in this process.

    An id has 48 bits of milliseconds, a counter of 42 bits that begins at random in each
    millisecond, and 32 random bits.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latest = 0

    def __call__(self) -> UUID:
        """The next id."""
        with self._lock:
            now = time.time_ns() // 1_000_000 << _COUNTER_BITS
            # Begun in the lower half, the counter has room for all ids of a millisecond.
            self._latest = max(self._latest + 1, now | randbits(_COUNTER_BITS - 1))
            latest = self._latest
        milliseconds, counter = divmod(latest, 1 << _COUNTER_BITS)
        high, low = divmod(counter, 1 << 30)
        version, variant = 7, 2
        head = milliseconds << 16 | version << 12 | high
        tail = variant << 62 | low << _TAIL_BITS | randbits(_TAIL_BITS)
        return UUID(int=head << 64 | tail)
