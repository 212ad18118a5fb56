"""What of a cluster a submission can name: PVCs and priority classes, from the view."""

from typing import NamedTuple

from bot.cluster.ownership import foreign_claim
from bot.cluster.resources import PRIORITY_CLASSES, PVCS
from bot.cluster.types.quantities import format_quantity
from bot.cluster.view import View


class OwnClaim(NamedTuple):
    """A PVC that a team may use; `size` is empty until it is bound."""

    name: str
    size: str
    storage_class: str


def own_claims(view: View, namespace: str, team: str) -> list[OwnClaim]:
    """The PVCs of a namespace that the team may use, by name."""
    found = []
    for claim in view.all(PVCS, namespace):
        size = claim.status.capacity.get("storage")
        if foreign_claim(claim, team) is None:
            said = format_quantity(size, binary=True) if size is not None else ""
            found.append(OwnClaim(claim.name, said, claim.spec.storage_class_name or ""))
    return sorted(found)


def priorities(view: View) -> list[tuple[str, int]]:
    """The names and values of the priority classes of a cluster, highest first."""
    found = [(each.name, each.value) for each in view.all(PRIORITY_CLASSES)]
    return sorted(found, key=lambda each: (-each[1], each[0]))
