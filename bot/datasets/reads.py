"""Answers about datasets that read from object stores; they change nothing."""

import time
from collections.abc import Callable
from contextlib import closing

from bot.config import Settings
from bot.datasets.comparing import Sort, summary
from bot.datasets.location import Location
from bot.datasets.manifest import Get, differences, read_entries, read_index
from bot.datasets.object_store import ObjectStore, opened
from bot.datasets.tables import Push, Version
from bot.datasets.worker.presigned.messages import GRANT, spelled, stored_grant
from bot.errors import LimitError, StorageError

# A million objects take about 0.9 s of CPU, during which the rest of the bot waits.
MOST_OBJECTS = 5_000_000
DEADLINE_SECONDS = 25.0
_LONGEST_GRANT = 2_900


class DatasetReads:
    """Reads manifests from the state bucket, one part of each in memory at a time."""

    def __init__(
        self, settings: Callable[[], Settings], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._monotonic = monotonic

    def differences(self, before: Version, after: Version) -> dict[str, Sort]:
        """The changes between two versions; LimitError above the limit of objects."""
        both = (before.objects or 0) + (after.objects or 0)
        if both > MOST_OBJECTS:
            raise LimitError(
                f"{before.reference} and {after.reference} have {both:,} objects in total;"
                f" up to {MOST_OBJECTS:,} can be compared here.",
                f"Their manifests are in store {after.manifest_store}:"
                f" {before.manifest} and {after.manifest}",
            )
        deadline = self._monotonic() + DEADLINE_SECONDS
        settings = self._settings()
        with (
            closing(opened(settings, before.manifest_store)) as left,
            closing(opened(settings, after.manifest_store)) as right,
        ):
            old, new = self._get(before, left, deadline), self._get(after, right, deadline)
            return summary(
                differences(read_entries(old, read_index(old)), read_entries(new, read_index(new)))
            )

    def grant(self, push: Push) -> str:
        """The grant of a push from a computer, as one word; a secret, so keep it nowhere."""
        with closing(opened(self._settings(), push.box_store)) as store:
            content = store.get(Location.of(push.box), GRANT)
        word = spelled(stored_grant(content))
        if len(word) > _LONGEST_GRANT:
            raise StorageError(
                f"The grant has {len(word):,} characters; Slack shows up to {_LONGEST_GRANT:,}.",
                "The session token of the store's keys is too long. A platform admin can set"
                f" stores.{push.box_store}.secret to keys without one.",
            )
        return word

    def _get(self, version: Version, store: ObjectStore, deadline: float) -> Get:
        place = Location.of(version.manifest)

        def get(name: str) -> bytes:
            if self._monotonic() > deadline:
                raise StorageError(
                    f"The comparison took longer than {DEADLINE_SECONDS:.0f} s and was stopped.",
                    f"Store {version.manifest_store} is slow at the moment. Try again later.",
                )
            return store.get(place, name)

        return get
