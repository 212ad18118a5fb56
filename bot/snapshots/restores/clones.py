"""Clones that save the data of a PVC before it is reverted."""

from datetime import datetime

from sqlmodel import Session

from bot.database.columns import new_id
from bot.reconcile.due import wake
from bot.slack.messages import refresh_cards, show_card
from bot.snapshots.objects import object_name
from bot.snapshots.tables import RESTORE, Restore, Revert, lane


def begin_clone(session: Session, revert: Revert, now: datetime) -> Restore:
    """Begins a clone of the PVC that is to be reverted."""
    row_id = new_id()
    row = Restore(
        id=row_id,
        workspace_id=revert.workspace_id,
        team=revert.team,
        person=revert.person,
        channel=revert.channel,
        cluster=revert.cluster,
        namespace=revert.namespace,
        snapshot_id=None,
        source=revert.claim_name,
        source_uid=revert.claim_uid,
        of_claim=revert.claim_name,
        claim_name=object_name(revert.claim_name, row_id),
        storage_class=revert.storage_class,
        access_mode=revert.access_mode,
        size_bytes=revert.size_bytes,
        # ONTAP refuses to revert a volume while a clone depends on its current data.
        is_split=True,
        asked_at=now,
        since=now,
    )
    session.add(row)
    session.flush()
    show_card(session, row.subject, row.channel, now, live=True, owner=row.person)
    wake(session, RESTORE, row.id, lane(row.cluster), now)
    return row


def cancel_clone(session: Session, revert: Revert, now: datetime) -> None:
    """Cancels the clone, unless it already exists."""
    row = session.get(Restore, revert.clone_id) if revert.clone_id is not None else None
    if row is None or not row.is_live:
        return
    row.cancelled_by, revert.clone = revert.cancelled_by, ""
    session.add(row)
    refresh_cards(session, row.subject, live=True)
    wake(session, RESTORE, row.id, lane(row.cluster), now)
