"""Counts folders of a version by its manifest, and says what caching them costs."""

import dataclasses
from datetime import datetime

from bot.database.database import Database
from bot.datasets import subfolders
from bot.datasets.browsing.reads import BrowseReads
from bot.datasets.caches.answers import CacheOffer, HeldPart, UncountedPart
from bot.datasets.caches.content import PlannedPart
from bot.datasets.caches.plan import CacheRequest
from bot.datasets.caches.service import CacheService
from bot.people.access import Caller


class PartReads:
    """Answers requests for folders of a version; reads its manifest, and changes nothing."""

    def __init__(self, database: Database, reads: BrowseReads, caches: CacheService) -> None:
        self._database = database
        self._reads = reads
        self._caches = caches

    def answer(
        self, caller: Caller, request: CacheRequest, part: UncountedPart, now: datetime
    ) -> CacheOffer | HeldPart:
        """What the folders cost, or which cache holds them; NotFoundError suggests others."""
        version, folders = part.version, part.folders
        totals = self._reads.totals(version, folders)
        if part.held_by is not None:
            reference = subfolders.spelled(version.reference, folders)
            return HeldPart(part.held_by, reference, totals)
        counted = PlannedPart(
            subfolders.written(folders), totals.digest, totals.objects, totals.bytes
        )
        # The version that was counted, should there be a newer one by now.
        exact = request.reference._replace(version=version.name)
        asked = dataclasses.replace(request, reference=exact)
        return self._database.read(
            lambda session: self._caches.offer_part(session, caller, asked, counted, now)
        )
