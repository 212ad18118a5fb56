"""Has Trident lose the volume of a PVC, as far as the bot knows."""

from sqlmodel import Session, col, delete

from bot.volumes.tables import MovedVolume
from tests.bot.ground import START, Ground

_AT = "/subscriptions/s/resourceGroups/g/providers/Microsoft.NetApp/netAppAccounts/a/capacityPools"
WHY = "was moved to pool premium, and Trident does not have its new id: it cannot be"
UNBLOCK = "An admin can tell Trident where it is: `/anf repair PVC`."
STAYS = (
    "Its volume was moved to pool premium, and Trident does not have its new id: deleting the"
    f" PVC would leave the volume behind, billed. {UNBLOCK}"
)


def lose(ground: Ground, name: str, namespace: str = "team-a") -> None:
    """Somebody moved its volume."""

    def work(session: Session) -> None:
        session.add(
            MovedVolume(
                cluster="default",
                volume_name=f"pvc-{namespace}-{name}",
                namespace=namespace,
                claim_name=name,
                told_id=f"{_AT}/standard/volumes/one",
                recorded_id=f"{_AT}/standard/volumes/one",
                current_id=f"{_AT}/premium/volumes/one",
                seen_at=START,
            )
        )

    ground.do(work)


def find(ground: Ground) -> None:
    """Somebody told Trident of all that were lost."""
    ground.do(lambda session: session.exec(delete(MovedVolume).where(col(MovedVolume.is_stale))))


def said(name: str, doing: str) -> tuple[str, str]:
    """The refusal of what cannot be done."""
    said = f"The volume of PVC {name} {WHY} {doing} now. Pods that use it keep running."
    return said, UNBLOCK
