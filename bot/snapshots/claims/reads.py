"""The PVCs of a team as the watches show them, with their service levels read from Azure."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlmodel import Session, col, select

from bot.cluster.cluster import Cluster
from bot.cluster.ownership import foreign_claim
from bot.cluster.resources import HOLDERS, PODS, PVCS, SNAPSHOTS, STORAGE_CLASSES, VOLUMES, Resource
from bot.cluster.types.claims import PersistentVolumeClaim
from bot.cluster.types.snapshots import VolumeSnapshot
from bot.config import Settings, Team
from bot.errors import (
    ClusterError,
    ConflictError,
    NotAllowedError,
    NotFoundError,
    QuartermasterError,
)
from bot.slack.grammar.reading import closest
from bot.snapshots import finding
from bot.snapshots.claims.found import (
    ClaimDetails,
    ClaimRun,
    ClaimSummary,
    LevelFound,
    TeamClaims,
)
from bot.snapshots.claims.lineage import copies_of, source_of
from bot.snapshots.claims.users import users_in
from bot.snapshots.schedules.controller import foreign_schedules
from bot.snapshots.tables import Restore, SnapshotSchedule
from bot.volumes.levels import monthly_price
from bot.volumes.matching import may_be_in, named_by
from bot.volumes.pools.reads import TeamVolumes, VolumeReads
from bot.volumes.resources import Unread

_READ: Sequence[Resource[Any]] = (PVCS, VOLUMES, PODS, HOLDERS)


class ClaimReads:
    """Reads the PVCs of teams; only the methods that say so call Azure, and none the clusters."""

    def __init__(
        self, settings: Callable[[], Settings], clusters: Mapping[str, Cluster], anf: VolumeReads
    ) -> None:
        self._settings = settings
        self._clusters = clusters
        self._anf = anf

    def listing(self, name: str, team: Team, cluster: str | None) -> TeamClaims:
        """The PVCs of a team in one of its clusters, or in all of them.

        Clusters that have not been read completely are named in `unread`.
        """
        places = (cluster,) if cluster else team.reach
        known = [each for each in places if self._is_read(each)]
        own: list[ClaimSummary] = []
        shared: list[str] = []
        for each in known:
            for found in self._summaries(each, team.namespace):
                if foreign_claim(found.claim, name) is None:
                    own.append(found)
                else:
                    shared.append(found.claim.name)
        return TeamClaims(
            team=name,
            rows=tuple(own),
            others=tuple(sorted(shared)),
            unread=tuple(each for each in places if each not in known),
            troubles=tuple(
                (each, self._clusters[each].trouble)
                for each in known
                if self._clusters[each].trouble
            ),
            is_wide=len(places) > 1,
        )

    def find(self, name: str, team: Team, claim: str, cluster: str | None) -> ClaimSummary:
        """The team's PVC of that name.

        Raises:
            NotFoundError: the team has none of that name.
            NotAllowedError: the PVC is not the team's own.
            ConflictError: the team has several, in different clusters.
            ClusterError: a cluster has not been read completely.
        """
        places = (cluster,) if cluster else team.reach
        for each in places:
            if not self._is_read(each):
                raise ClusterError(
                    f"The PVCs and pods of cluster {each} have not been read yet.",
                    "Try again in a moment.",
                )
        there = [found for each in places for found in self._summaries(each, team.namespace)]
        named = [each for each in there if each.claim.name == claim]
        if not named:
            near = closest(claim, [each.claim.name for each in there])
            hint = f"Did you mean {near}?" if near else "`/pvc list` shows the team's PVCs."
            raise NotFoundError(f"There is no PVC {claim} in namespace {team.namespace}.", hint)
        if len(named) > 1:
            raise ConflictError(
                f"PVC {claim} is in clusters {' and '.join(each.cluster for each in named)}.",
                f"Choose one, for example `--cluster {named[0].cluster}`.",
            )
        foreign = foreign_claim(named[0].claim, name)
        if foreign is not None:
            raise NotAllowedError(
                foreign.reason, "Name one of the team's own PVCs: `/pvc list` shows them."
            )
        return named[0]

    def details(
        self, session: Session, name: str, found: ClaimSummary, runs: Sequence[ClaimRun]
    ) -> ClaimDetails:
        """What is known of one PVC: its source, its copies, its schedules and its revert.

        `runs` are those of the team that mount it.
        """
        claim, cluster = found.claim, self._clusters[found.cluster]
        there = cluster.view.all(PVCS, claim.namespace)
        return ClaimDetails(
            summary=found,
            source=source_of(claim),
            restore=_restore(session, found),
            copies=copies_of(claim, there, found.snapshots),
            schedule=_schedule(session, name, found),
            others=tuple(foreign_schedules(cluster, claim.namespace, claim.labels)),
            revert=finding.reverting(session, found.cluster, claim.namespace, claim.name),
            runs=tuple(runs),
        )

    def may_be_on_anf(self, rows: tuple[ClaimSummary, ...]) -> bool:
        """Whether to ask Azure for the service levels of PVCs."""
        volumes = [each.volume for each in rows if each.volume is not None]
        return self._anf.is_configured and any(named_by(each) is not None for each in volumes)

    def with_levels(self, found: TeamClaims, team: Team) -> TeamClaims:
        """The same PVCs with their service levels and costs, from Azure.

        If Azure or a part of it cannot be asked, its answer is in `azure` and those levels stay
        unknown.
        """
        try:
            there = self._anf.volumes(team)
        except QuartermasterError as error:
            return replace(found, azure=error.message)
        levels = self._levels(there)
        rows = tuple(
            replace(each, level=levels.get((each.cluster, each.claim.name))) for each in found.rows
        )
        unread = (each.sentence for each in there.unread if _hides_levels(each, rows))
        return replace(found, rows=rows, azure=" ".join(unread))

    def with_level(self, found: ClaimDetails, team: Team) -> ClaimDetails:
        """The same PVC with its service level and cost, from Azure; `azure` says why not."""
        summary = found.summary
        try:
            where, mine = self._anf.find(team, summary.claim.name, summary.cluster)
            shown = self._anf.show(where, mine)
        except ConflictError:
            return found  # an NFS server that is not one of Azure NetApp Files
        except QuartermasterError as error:
            return replace(found, azure=error.message)
        if shown.row.found is None:
            return replace(found, azure="The bot cannot see its volume in Azure.")
        volume = shown.row.found.volume
        cost = monthly_price(self._anf.configured(), volume.level, volume.quota_bytes)
        level = LevelFound(volume, cost, is_moved=shown.row.found.is_moved)
        return replace(found, summary=replace(summary, level=level))

    def _levels(self, there: TeamVolumes) -> dict[tuple[str, str], LevelFound]:
        anf = self._anf.configured()
        return {
            (row.cluster, row.claimed.claim.name): LevelFound(
                row.found.volume,
                monthly_price(anf, row.found.volume.level, row.found.volume.quota_bytes),
                is_moved=row.found.is_moved,
            )
            for row in there.rows
            if row.found is not None
        }

    def _is_read(self, cluster: str) -> bool:
        view = self._clusters[cluster].view
        return all(view.store(each).synced for each in _READ)

    def _summaries(self, name: str, namespace: str) -> list[ClaimSummary]:
        """The PVCs of a namespace by name; reads each resource of the view once."""
        view = self._clusters[name].view
        users = users_in(view, namespace)
        taken: dict[str, list[VolumeSnapshot]] = defaultdict(list)
        for each in view.all(SNAPSHOTS, namespace):
            taken[each.claim_name].append(each)
        return [
            ClaimSummary(
                cluster=name,
                claim=claim,
                volume=view.get(VOLUMES, claim.spec.volume_name),
                storage_class=view.get(STORAGE_CLASSES, claim.spec.storage_class_name or ""),
                users=tuple(users.get(claim.name, ())),
                snapshots=tuple(sorted(taken[claim.name], key=_taken_at, reverse=True)),
                has_snapshots=not view.store(SNAPSHOTS).absent,
                class_cost=self._cost(name, claim),
            )
            for claim in sorted(view.all(PVCS, namespace), key=lambda each: each.name)
        ]

    def _cost(self, cluster: str, claim: PersistentVolumeClaim) -> float | None:
        datasets, storage_class = self._settings().datasets, claim.spec.storage_class_name or ""
        kind = datasets.at(cluster).classes.get(storage_class) if datasets else None
        return kind.monthly_price(claim.size_bytes) if kind else None


def _hides_levels(unread: Unread, rows: Iterable[ClaimSummary]) -> bool:
    """Whether a volume without a known level may be in a subscription that could not be read."""
    volumes = (each.volume for each in rows if each.level is None)
    named = (named_by(each) for each in volumes if each is not None)
    return any(each is not None and may_be_in(each, unread) for each in named)


def _taken_at(snapshot: VolumeSnapshot) -> tuple[bool, str]:
    """Sorts by the moment that a snapshot shows; those still being taken are the newest."""
    moment = snapshot.status.creation_time
    return moment is None, moment.isoformat() if moment is not None else snapshot.name


def _restore(session: Session, found: ClaimSummary) -> Restore | None:
    return session.exec(
        select(Restore).where(
            col(Restore.cluster) == found.cluster,
            col(Restore.namespace) == found.claim.namespace,
            col(Restore.claim_name) == found.claim.name,
            col(Restore.uid) == found.claim.uid,
        )
    ).first()


def _schedule(session: Session, team: str, found: ClaimSummary) -> SnapshotSchedule | None:
    return session.exec(
        select(SnapshotSchedule).where(
            col(SnapshotSchedule.team) == team,
            col(SnapshotSchedule.cluster) == found.cluster,
            col(SnapshotSchedule.claim_name) == found.claim.name,
            col(SnapshotSchedule.ended_at).is_(None),
        )
    ).first()
