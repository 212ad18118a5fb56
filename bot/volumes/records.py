"""Whether Trident's record of a moved volume is stale, from rows alone."""

from typing import NamedTuple

from sqlmodel import Session, col, select

from bot.errors import ConflictError
from bot.volumes.resources import same_id
from bot.volumes.tables import MovedVolume

UNBLOCK = "An admin can tell Trident where it is: `/anf repair PVC`."


class ClaimPlace(NamedTuple):
    """The cluster, namespace and name of a PVC."""

    cluster: str
    namespace: str
    name: str


def stale(session: Session, claim: ClaimPlace) -> MovedVolume | None:
    """The moved volume of a PVC whose record in Trident is stale; None if there is none."""
    return session.exec(
        select(MovedVolume).where(
            col(MovedVolume.cluster) == claim.cluster,
            col(MovedVolume.namespace) == claim.namespace,
            col(MovedVolume.claim_name) == claim.name,
            col(MovedVolume.is_stale),
        )
    ).first()


def refuse_stale(session: Session, claim: ClaimPlace, doing: str) -> None:
    """Raises ConflictError while Trident's record of a PVC's volume is stale.

    `doing` completes "it cannot be ...".
    """
    found = stale(session, claim)
    if found is not None:
        raise ConflictError(why(found, doing), UNBLOCK)


def why(found: MovedVolume, doing: str) -> str:
    """Why something cannot be done with a moved volume, as sentences."""
    return (
        f"The volume of PVC {found.claim_name} was moved to pool {pool_of(found.current_id)}, and"
        f" Trident does not have its new id: it cannot be {doing} now. Pods that use it keep"
        " running."
    )


def why_it_stays(found: MovedVolume) -> str:
    """Why a PVC is not deleted, as a sentence."""
    return (
        f"Its volume was moved to pool {pool_of(found.current_id)}, and Trident does not have"
        f" its new id: deleting the PVC would leave the volume behind, billed. {UNBLOCK}"
    )


def pool_of(resource_id: str) -> str:
    """The name of the pool in the id of a volume."""
    return resource_id.lower().partition("/capacitypools/")[2].partition("/")[0]


def note(session: Session, row: MovedVolume) -> None:
    """Stores a moved volume, unless a later state is stored already.

    If Trident's record could be read before and cannot be now, the earlier content is kept.
    """
    known = session.get(MovedVolume, (row.cluster, row.volume_name))
    if known is not None and known.seen_at > row.seen_at:
        return
    if known is not None and _is_better(known, row):
        row.recorded_id, row.is_stale, row.unread = known.recorded_id, known.is_stale, ""
    session.merge(row)


def _is_better(known: MovedVolume, row: MovedVolume) -> bool:
    is_same = same_id(known.current_id, row.current_id)
    return bool(row.unread) and not known.unread and is_same
