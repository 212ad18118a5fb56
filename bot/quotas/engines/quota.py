"""One quota of a queue, and the annotation on the queue that records its value before."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from bot.cluster import labels
from bot.cluster.types.objects import ClusterObject
from bot.cluster.types.quantities import parse_quantity

ANNOTATION = labels.PREFIX + "override"
NOMINAL = "nominalQuota"
BORROWING = "borrowingLimit"

Operation = dict[str, object]


@dataclass(frozen=True)
class QuotaField:
    """Identifies a quota; `field` is nominalQuota or borrowingLimit, on any engine."""

    queue: str
    flavor: str
    resource: str
    field: str

    @property
    def key(self) -> str:
        """Its key in the annotation of the queue."""
        return f"{self.flavor}/{self.resource}/{self.field}"


@dataclass(frozen=True)
class QuotaAnnotation:
    """The annotation's entry for one quota, enough to restore it without the database."""

    ids: tuple[str, ...]
    baseline: str
    value: str
    until: str


@dataclass(frozen=True)
class Observed:
    """A quota as a queue has it.

    `value` is None if the quota is missing or unlimited; `is_foreign` means that another
    installation has annotated the queue. `kind` is the engine's kind of the queue, and `least` is
    the lowest value that the queue accepts. Without `keeps_notes`, the queue has no place for
    annotations, so that only the database knows what a quota was before.
    """

    value: Decimal | None
    note: QuotaAnnotation | None = None
    is_foreign: bool = False
    kind: str = "ClusterQueue"
    least: Decimal = Decimal(0)
    keeps_notes: bool = True


@dataclass(frozen=True)
class QuotaTarget:
    """The value that a quota should have, and its annotation."""

    value: Decimal
    note: QuotaAnnotation | None


def observed(
    queue: ClusterObject | None,
    place: QuotaField,
    value: Decimal | None,
    installation: str,
    kind: str,
) -> Observed:
    """A quota that was read, with our note about it."""
    if queue is None:
        return Observed(None, kind=kind)
    writer, notes = read_notes(queue)
    is_ours = writer == installation
    return Observed(
        value=value,
        note=notes.get(place.key) if is_ours else None,
        is_foreign=bool(writer) and not is_ours,
        kind=kind,
    )


def read_notes(queue: ClusterObject) -> tuple[str, dict[str, QuotaAnnotation]]:
    """The installation that wrote the queue's annotation, and its note on each quota."""
    try:
        content = json.loads(queue.metadata.annotations.get(ANNOTATION, ""))
        notes = {key: _note_in(each) for key, each in content["fields"].items()}
        return str(content["installation"]), notes
    except (AttributeError, KeyError, TypeError, ValueError):
        return "", {}


def _note_in(entry: dict[str, Any]) -> QuotaAnnotation:
    """One entry of an annotation; ValueError if its end is no moment with a zone."""
    if datetime.fromisoformat(entry["until"]).tzinfo is None:
        raise ValueError(f"{entry['until']} has no zone")
    ids = tuple(map(str, entry["ids"]))
    return QuotaAnnotation(ids, entry["baseline"], entry["value"], entry["until"])


def notes_of(
    queue: ClusterObject, installation: str
) -> Iterator[tuple[QuotaField, QuotaAnnotation]]:
    """The notes of this installation in the queue's annotation, with their quotas."""
    writer, notes = read_notes(queue)
    for key, note in notes.items() if writer == installation else ():
        flavor, _, rest = key.partition("/")
        resource, _, field = rest.rpartition("/")
        if resource and field in {NOMINAL, BORROWING}:
            yield QuotaField(queue.name, flavor, resource, field), note


def annotate(
    queue: ClusterObject, place: QuotaField, note: QuotaAnnotation | None, installation: str
) -> Iterator[Operation]:
    """The operations that set this note, and fail if the annotation has changed meanwhile."""
    path = f"/metadata/annotations/{ANNOTATION.replace('/', '~1')}"
    text = queue.metadata.annotations.get(ANNOTATION)
    notes = read_notes(queue)[1]
    notes.pop(place.key, None)
    if note is not None:
        notes[place.key] = note
    if text is not None:
        yield {"op": "test", "path": path, "value": text}
    elif notes:
        # Nothing else detects that the queue is annotated concurrently.
        yield same_version(queue)
    if notes and not queue.metadata.annotations:
        yield {"op": "add", "path": "/metadata/annotations", "value": {}}
    if notes:
        yield {"op": "add", "path": path, "value": _written(installation, notes)}
    elif text is not None:
        yield {"op": "remove", "path": path}


def same_version(queue: ClusterObject) -> Operation:
    """The test that the queue has not changed at all since it was read."""
    version = queue.metadata.resource_version
    return {"op": "test", "path": "/metadata/resourceVersion", "value": version}


def decoded(text: str) -> Decimal:
    """The number in a note."""
    return parse_quantity(text)


def _written(installation: str, notes: dict[str, QuotaAnnotation]) -> str:
    fields = {key: asdict(note) for key, note in sorted(notes.items())}
    return json.dumps({"installation": installation, "fields": fields})
