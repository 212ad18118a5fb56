"""Whether Trident still looks for a volume where it is not: known without asking anybody."""

from sqlmodel import Session

from bot.cluster.claims import PersistentVolumeClaim
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PVCS
from bot.errors import ConflictError
from bot.volumes.resources import same_id
from bot.volumes.tables import MovedVolume


def moved(session: Session, cluster: str, volume_name: str) -> MovedVolume | None:
    """What is known of a PV whose volume is not where the PV says; None of any other."""
    return session.get(MovedVolume, (cluster, volume_name)) if volume_name else None


def stale(session: Session, cluster: str, volume_name: str) -> MovedVolume | None:
    """The same, where Trident does not know either where it is."""
    found = moved(session, cluster, volume_name)
    return found if found is not None and found.is_stale else None


def stale_claim(
    session: Session, cluster: Cluster, namespace: str, name: str
) -> MovedVolume | None:
    """The same of a PVC, as the watches see it."""
    claim: PersistentVolumeClaim | None = cluster.view.get(PVCS, name, namespace)
    return stale(session, cluster.name, claim.spec.volume_name) if claim is not None else None


def refuse_stale(session: Session, cluster: Cluster, claim: tuple[str, str], doing: str) -> None:
    """ConflictError while Trident does not know where the volume of a PVC is.

    `claim` is namespace and name; `doing` goes on after "It cannot be".
    """
    found = stale_claim(session, cluster, *claim)
    if found is not None:
        raise ConflictError(why(found, doing), UNBLOCK)


def why(found: MovedVolume, doing: str) -> str:
    """What is wrong with a volume, and what cannot be done meanwhile."""
    return (
        f"The volume of PVC {found.claim_name} was moved to pool {pool_of(found.current_id)}, and"
        f" Trident does not know: it cannot be {doing} now. What runs on it goes on."
    )


UNBLOCK = "An admin tells Trident where it is; docs/anf.md says how."


def pool_of(resource_id: str) -> str:
    """The name of the pool that the id of a volume tells."""
    return resource_id.lower().partition("/capacitypools/")[2].partition("/")[0]


def note(session: Session, row: MovedVolume) -> None:
    """Keeps what was found, unless something later is known.

    A record that could be read once, and cannot now, still says what it said.
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
