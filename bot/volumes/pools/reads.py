"""Read-only answers about volumes and pools that need Azure."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from bot.cluster.cluster import Cluster
from bot.cluster.resources import PVCS, VOLUMES
from bot.cluster.types.claims import PersistentVolumeClaim
from bot.config import Anf, Team
from bot.errors import ClusterError, ConflictError, NotFoundError, StorageError
from bot.slack.grammar.reading import closest
from bot.volumes.anf import NetAppFiles
from bot.volumes.deadline import DEADLINE_SECONDS, Deadline
from bot.volumes.matching import (
    Claimed,
    MatchedVolume,
    claimed,
    is_known,
    is_of,
    match,
    refuse_unread,
)
from bot.volumes.moves import Record, Records
from bot.volumes.pools.capacity import fresh_pools
from bot.volumes.resources import Estate, Pool, Unread, subscription_of, volume_place
from bot.volumes.tables import SeenPool


@dataclass(frozen=True)
class Row:
    """A PVC of a team and its volume; `found` is None if the bot cannot see it in Azure.

    If the volume was moved, `record` is Trident's record of it. `is_unread` if it is in a
    subscription that could not be read.
    """

    cluster: str
    claimed: Claimed
    found: MatchedVolume | None
    record: Record | None = None
    is_unread: bool = False


@dataclass(frozen=True)
class TeamVolumes:
    """The volumes of a team; `elsewhere` are PVCs that are on no volume in Azure.

    `unread` are the subscriptions that could not be read, in which there may be more.
    """

    rows: tuple[Row, ...]
    elsewhere: tuple[str, ...]
    unread: tuple[Unread, ...] = ()


@dataclass(frozen=True)
class Shown:
    """A PVC with its volume and pool; what the bot cannot see in Azure is None."""

    row: Row
    pool: Pool | None = None
    free_bytes: int | None = None


class VolumeReads:
    """Reads volumes and pools from Azure for handlers."""

    def __init__(
        self,
        files: NetAppFiles,
        clusters: Mapping[str, Cluster],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._files = files
        self._clusters = clusters
        self._monotonic = monotonic

    @property
    def is_configured(self) -> bool:
        """Whether Azure NetApp Files is configured."""
        return self._files.is_configured

    def configured(self) -> Anf:
        """The configuration; raises ConflictError if there is none. Makes no request."""
        return self._files.configured

    def volumes(self, team: Team) -> TeamVolumes:
        """The team's PVCs in all of its clusters, with their volumes."""
        mine: list[tuple[str, Claimed]] = []
        others: list[str] = []
        rows: list[Row] = []
        for name in team.reach:
            found, rest = self._claimed(name, team)
            mine += [(name, each) for each in found]
            others += [each.name for each in rest]
        estate = self._files.estate(self._deadline()) if mine else Estate((), ())
        for name, each in mine:
            if subscription_of(each.named.id) in {one.subscription for one in estate.unread}:
                rows.append(Row(name, each, None, is_unread=True))
            elif is_known(each.named, estate.volumes):
                rows.append(self._row(name, each, match(each.named, estate.volumes)))
            else:
                others.append(each.claim.name)
        return TeamVolumes(tuple(rows), tuple(sorted(others)), estate.unread)

    def pools(self) -> Estate:
        """All pools, with their volumes."""
        return self._files.estate(self._deadline())

    def pools_seen(self, session: Session, now: datetime) -> Sequence[SeenPool]:
        """All pools as of the last read from Azure, if that is recent; makes no request."""
        return list(fresh_pools(session, now).values())

    def own(self, team: Team) -> list[Claimed]:
        """The team's PVCs that may be on Azure NetApp Files, from the watches, by name."""
        return [each for name in team.reach for each in self._claimed(name, team)[0]]

    def find(self, team: Team, name: str, cluster: str | None) -> tuple[str, Claimed]:
        """A PVC of the team, from the watches; makes no request.

        Raises:
            NotFoundError: the team has none of that name.
            ConflictError: it is not on Azure NetApp Files, or in several clusters.
            ClusterError: not all PVCs have been read yet.
        """
        places = (cluster,) if cluster else team.reach
        there = {each: self._claimed(each, team) for each in places}
        found = [
            (where, each)
            for where, (mine, _) in there.items()
            for each in mine
            if each.claim.name == name
        ]
        if len(found) == 1:
            return found[0]
        if found:
            raise ConflictError(
                f"PVC {name} is in clusters {' and '.join(where for where, _ in found)}.",
                f"Choose one, for example `--cluster {found[0][0]}`.",
            )
        names = [each.claim.name for mine, _ in there.values() for each in mine]
        if name in {each.name for _, rest in there.values() for each in rest}:
            raise ConflictError(f"PVC {name} is not on Azure NetApp Files.", _there(names))
        near = closest(name, names)
        hint = f"Did you mean {near}?" if near else _there(names)
        raise NotFoundError(f"There is no PVC {name} in namespace {team.namespace}.", hint)

    def show(self, cluster: str, of: Claimed) -> Shown:
        """One PVC with its volume and pool, read by their ids unless those have changed.

        Raises ConflictError if nothing shows that it is on Azure NetApp Files.
        """
        deadline = self._deadline()
        found = self._locate(of, deadline)
        if found is None:
            return Shown(Row(cluster, of, None))
        deadline.check()
        pool = self._files.pool(found.volume.pool)
        inside = self._files.volumes(found.volume.pool) if pool is not None else []
        taken = sum(each.quota_bytes for each in inside)
        free = None if pool is None else pool.size_bytes - taken
        return Shown(self._row(cluster, of, found), pool, free)

    def _row(self, cluster: str, of: Claimed, found: MatchedVolume | None) -> Row:
        if found is None or not found.is_moved:
            return Row(cluster, of, found)
        records = Records(self._clusters[cluster], self._files.configured.trident_namespace)
        return Row(cluster, of, found, records.of(of.volume.name))

    def _claimed(self, name: str, team: Team) -> tuple[list[Claimed], list[PersistentVolumeClaim]]:
        """PVCs from the watches; raises ClusterError until they have been read completely."""
        cluster = self._clusters[name]
        if not (cluster.view.store(PVCS).synced and cluster.view.store(VOLUMES).synced):
            raise ClusterError(
                f"The PVCs of cluster {name} have not been read yet.", "Try again in a moment."
            )
        return claimed(cluster, team.namespace)

    def _locate(self, of: Claimed, deadline: Deadline) -> MatchedVolume | None:
        place, anf = volume_place(of.named.id), self._files.configured
        if place is not None and anf.reads(place.subscription, f"{place.group}/{place.account}"):
            volume = self._files.volume(place)
            if volume is not None and is_of(of.named, volume):
                return MatchedVolume(volume)
        elif of.named.id:
            raise _unread(of)
        deadline.check()
        estate = self._files.estate(deadline)
        known = estate.volumes
        found = match(of.named, known)
        if found is None:
            refuse_unread(of.named, estate)
        if not is_known(of.named, known):
            raise ConflictError(
                f"PVC {of.claim.name} is on {of.named.address}:/{of.named.path}, where the bot can"
                " see no volumes in Azure.",
                "`/anf volumes` lists the PVCs on Azure NetApp Files.",
            )
        return found

    def _deadline(self) -> Deadline:
        return Deadline(DEADLINE_SECONDS, self._monotonic)


def _unread(of: Claimed) -> StorageError:
    place = volume_place(of.named.id)
    if place is None:
        return StorageError(f"PVC {of.claim.name} names no volume of Azure: {of.named.id}.")
    where = f"account {place.group}/{place.account} of subscription {place.subscription}"
    return StorageError(
        f"The volume of PVC {of.claim.name} is in {where}, which the bot does not read.",
        "A platform admin can add it to anf.other_subscriptions in quartermaster.yaml.",
    )


def _there(names: list[str]) -> str:
    return (
        f"These may be on Azure NetApp Files: {', '.join(names[:10])}."
        if names
        else "None of the team's PVCs is on Azure NetApp Files."
    )
