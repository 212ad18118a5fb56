"""Updates Trident's record after a move: whether that is possible, and its progress."""

from datetime import datetime

from sqlmodel import Session

from bot.cluster.cluster import Cluster
from bot.cluster.resources import DEPLOYMENTS, TRIDENT_VOLUMES
from bot.cluster.types.claims import PersistentVolume
from bot.config import Anf
from bot.errors import ClusterError
from bot.volumes.changes.acts import Astray, Busy, Reached, Ready, State
from bot.volumes.changes.tables import CHANGE, LANE, IdChange, VolumeChange
from bot.volumes.matching import named_by
from bot.volumes.moves import Record, Records
from bot.volumes.records import note
from bot.volumes.repairs.plan import RepairPlan
from bot.volumes.repairs.service import Asker, WakeAfterRepair, begin_repair, live_repair
from bot.volumes.repairs.tables import Repair, RepairPhase
from bot.volumes.tables import MovedVolume


def record_of(cluster: Cluster | None, anf: Anf, volume: PersistentVolume | None) -> Record | None:
    """Trident's record of a PV's volume; None if Trident did not create it.

    If the bot could not update it after a move, `unread` says why.
    """
    named = named_by(volume) if volume is not None else None
    if cluster is None or volume is None or named is None or not named.id:
        return None
    namespace = anf.trident_namespace
    found = Records(cluster, namespace).of(volume.name)
    if found.unread:
        return found
    try:
        lacking = [
            each.plural
            for each, name in ((TRIDENT_VOLUMES, ""), (DEPLOYMENTS, anf.trident_deployment))
            if not cluster.may("patch", each.group, each.plural, namespace=namespace, name=name)
        ]
        deployment = cluster.get(DEPLOYMENTS, anf.trident_deployment, namespace)
    except ClusterError as error:
        return Record(found.id, error.message)
    if lacking:
        return Record(found.id, f"The bot may not patch {', '.join(lacking)} in {namespace}.")
    if deployment is None:
        missing = f"There is no Deployment {anf.trident_deployment} in namespace {namespace}."
        return Record(found.id, missing)
    return found


def note_move(session: Session, row: VolumeChange, ids: IdChange, now: datetime) -> None:
    """Stores that Trident has the old id, and Azure the new one."""
    known = session.get(MovedVolume, (row.cluster, row.pv_name))
    note(
        session,
        MovedVolume(
            cluster=row.cluster,
            volume_name=row.pv_name,
            namespace=row.namespace,
            claim_name=row.claim_name,
            told_id=known.told_id if known is not None else ids.old,
            current_id=ids.new,
            recorded_id=ids.old,
            seen_at=now,
        ),
    )


def tell(session: Session, row: VolumeChange, ids: IdChange, anf: Anf, now: datetime) -> str:
    """Begins the repair that was approved with the move; returns its id.

    The id is empty if another repair is in progress. The end of the repair wakes the change.
    """
    if live_repair(session, row.cluster, row.pv_name) is not None:
        return ""
    plan = RepairPlan(
        team=row.team,
        cluster=row.cluster,
        claim=row.claim_name,
        volume_name=row.pv_name,
        old_id=ids.old,
        new_id=ids.new,
    )
    asker = Asker(row.workspace_id, row.person, row.channel, row.namespace)
    return begin_repair(session, asker, plan, anf, now, WakeAfterRepair(CHANGE, row.id, LANE)).id


def state_of_telling(repair: Repair | None) -> State:
    """The state of the repair, as that of an act."""
    if repair is None:
        return Ready()
    if repair.is_live:
        return Busy("Trident's record")
    if repair.phase == RepairPhase.DONE:
        return Reached()
    return Astray(f"{repair.reason} {repair.stands}".strip(), repair.unblock)
