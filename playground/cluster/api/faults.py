"""What can be wrong with the API on purpose, for the requests of the bot."""

from dataclasses import dataclass, field

from playground.cluster.api.watching import Watch
from playground.cluster.objects.errors import (
    ApiError,
    etcd_timed_out,
    too_many_requests,
    unavailable,
)

_WRITES = frozenset({"create", "update", "patch", "delete"})


@dataclass
class Faults:
    """Switches; counters are spent by one request each.

    `unavailable` answers everything with 503; `reset` closes connections without an answer.
    Each of `etcd_timeouts` fails one write, each of `etcd_timeouts_after` one that was done.
    For a server that does not even listen there is `Cluster.go_down`.
    """

    unavailable: bool = False
    reset: bool = False
    slow_seconds: float = 0.0
    too_many: int = 0
    retry_after_seconds: int = 1
    conflicts: int = 0
    etcd_timeouts: int = 0
    etcd_timeouts_after: int = 0
    gone_watches: int = 0
    watches: set[Watch] = field(default_factory=set)

    def before(self, verb: str) -> ApiError | None:
        """The refusal that waits for this request, if one does."""
        if self.unavailable:
            return unavailable("the server is currently unable to handle the request")
        if self.too_many > 0:
            self.too_many -= 1
            return too_many_requests(self.retry_after_seconds)
        if verb in _WRITES and self.etcd_timeouts > 0:
            self.etcd_timeouts -= 1
            return etcd_timed_out()
        if verb == "patch" and self.conflicts > 0:
            self.conflicts -= 1
            return ApiError(
                409,
                "Conflict",
                "Operation cannot be fulfilled: the object has been modified; please apply your "
                "changes to the latest version and try again",
            )
        return None

    def after(self, verb: str) -> ApiError | None:
        """What is answered though the request was done, if anything."""
        if verb in _WRITES and self.etcd_timeouts_after > 0:
            self.etcd_timeouts_after -= 1
            return etcd_timed_out()
        return None

    def watch_is_gone(self) -> bool:
        """Whether the next watch is to be answered with 410 Gone."""
        if self.gone_watches <= 0:
            return False
        self.gone_watches -= 1
        return True

    def cut_watches(self) -> int:
        """Closes all open watches in the middle; how many there were."""
        cut = list(self.watches)
        for watch in cut:
            watch.cut()
        return len(cut)
