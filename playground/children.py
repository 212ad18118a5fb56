"""Child processes that never outlive the playground, even when it is killed."""

import ctypes
import signal
import sys
from typing import Any

_PR_SET_PDEATHSIG = 1
_LIBC: Any = ctypes.CDLL(None)


def die_with_parent() -> None:
    """Has the calling process killed when the thread that started it ends."""
    if sys.platform == "linux":
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
