"""What a PVC was created from, and which PVCs were created from it."""

from collections.abc import Iterable
from dataclasses import dataclass

from bot.cluster import labels
from bot.cluster.types.claims import PersistentVolumeClaim
from bot.cluster.types.snapshots import VolumeSnapshot
from bot.masking import without_mentions

_SNAPSHOT, _CLAIM = "VolumeSnapshot", "PersistentVolumeClaim"


@dataclass(frozen=True)
class ClaimSource:
    """What a PVC was created from: a VolumeSnapshot, another PVC, or something else."""

    kind: str
    name: str
    namespace: str

    @property
    def is_snapshot(self) -> bool:
        """Whether it is a VolumeSnapshot."""
        return self.kind == _SNAPSHOT

    @property
    def is_claim(self) -> bool:
        """Whether it is another PVC."""
        return self.kind == _CLAIM


def source_of(claim: PersistentVolumeClaim) -> ClaimSource | None:
    """What a PVC was created from; None if it was created empty."""
    told = claim.spec.data_source_ref or claim.spec.data_source
    if told is not None:
        return ClaimSource(told.kind, told.name, told.namespace or claim.namespace)
    notes = claim.metadata.annotations
    namespace = without_mentions(notes.get(labels.CLONED_FROM_NAMESPACE, claim.namespace))
    if labels.CLONED_FROM_SNAPSHOT in notes:
        return ClaimSource(
            _SNAPSHOT, without_mentions(notes[labels.CLONED_FROM_SNAPSHOT]), namespace
        )
    if labels.CLONED_FROM in notes:
        return ClaimSource(_CLAIM, without_mentions(notes[labels.CLONED_FROM]), namespace)
    return None


def copies_of(
    claim: PersistentVolumeClaim,
    there: Iterable[PersistentVolumeClaim],
    snapshots: Iterable[VolumeSnapshot],
) -> tuple[str, ...]:
    """The PVCs of the same namespace that were created from a PVC, or from its snapshots."""
    sources = {
        (_CLAIM, claim.name, claim.namespace),
        *((_SNAPSHOT, each.name, each.namespace) for each in snapshots),
    }
    found = ((each.name, source_of(each)) for each in there if each.name != claim.name)
    return tuple(
        sorted(
            name
            for name, source in found
            if source is not None and (source.kind, source.name, source.namespace) in sources
        )
    )
