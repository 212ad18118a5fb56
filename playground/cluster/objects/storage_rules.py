"""What the API server fills in and refuses in claims, volumes and storage classes."""

from collections.abc import Iterator
from typing import Any

from playground.cluster.objects.errors import (
    Cause,
    forbidden,
    invalid,
    not_allowed,
    required,
    unsupported,
    wrong,
)
from playground.cluster.objects.kinds import CLAIM, STORAGE_CLASS, VOLUME, Kind, Object
from playground.cluster.objects.quantities import parse_quantity
from playground.cluster.objects.store import Store

CLAIM_PROTECTION = "kubernetes.io/pvc-protection"
VOLUME_PROTECTION = "kubernetes.io/pv-protection"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_BOUND_ONLY = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName "
    "for bound claims"
)
_CLASS_FIXED = ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode")


def default_claim(claim: Object) -> None:
    """Fills in what every new claim has."""
    spec = claim.setdefault("spec", {})
    spec.setdefault("volumeMode", "Filesystem")
    source = spec.get("dataSourceRef") or spec.get("dataSource")
    if source and "namespace" not in source:
        spec |= {"dataSource": dict(source), "dataSourceRef": dict(source)}
    claim["metadata"].setdefault("finalizers", [CLAIM_PROTECTION])
    claim["status"] = {"phase": "Pending"}


def default_volume(volume: Object) -> None:
    """Fills in what every new volume has."""
    spec = volume.setdefault("spec", {})
    spec.setdefault("volumeMode", "Filesystem")
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    volume["metadata"].setdefault("finalizers", [VOLUME_PROTECTION])
    volume["status"] = {"phase": "Pending"}


def default_class(storage_class: Object) -> None:
    """Fills in what every new storage class has."""
    storage_class.setdefault("reclaimPolicy", "Delete")
    storage_class.setdefault("volumeBindingMode", "Immediate")


def check_claim(claim: Object) -> None:
    """Raises 422 for what no claim may look like."""
    causes = list(_claim_causes(claim.get("spec") or {}))
    if causes:
        raise invalid(CLAIM, claim["metadata"].get("name", ""), causes)


def _claim_causes(spec: dict[str, Any]) -> Iterator[Cause]:
    modes = spec.get("accessModes") or ()
    if not modes:
        yield required("spec.accessModes", "at least 1 access mode is required")
    for mode in modes:
        if mode not in MODES:
            yield unsupported("spec.accessModes", mode, MODES)
    if "ReadWriteOncePod" in modes and len(set(modes)) > 1:
        why = "may not use ReadWriteOncePod with other access modes"
        yield not_allowed("spec.accessModes", why)
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if size is None:
        yield required("spec.resources[storage]")
    elif parse_quantity(size) <= 0:
        yield wrong("spec.resources[storage]", size, "must be greater than zero")


def check_claim_change(old: Object, new: Object) -> None:
    """Raises 422 for changes of what is fixed once a claim exists."""
    bound = old.get("status", {}).get("phase") == "Bound"
    causes = []
    if _fixed(old, new, bound=bound) != _fixed(new, new, bound=bound):
        causes.append(not_allowed("spec", _BOUND_ONLY))
    before, after = _size(old), _size(new)
    if bound and after < before and after <= parse_quantity(_capacity(old)):
        path = "spec.resources.requests.storage"
        causes.append(not_allowed(path, "field can not be less than status.capacity"))
    if causes:
        raise invalid(CLAIM, new["metadata"]["name"], causes)


def _fixed(claim: Object, new: Object, *, bound: bool) -> dict[str, Any]:
    free = {"resources"} if bound else set()
    free |= set() if claim["spec"].get("volumeName") else {"volumeName"}
    free |= {"volumeName"} if claim is new else set()
    spec = {name: value for name, value in claim["spec"].items() if name not in free}
    return {name: value for name, value in spec.items() if name != "volumeName"}


def _size(claim: Object) -> Any:
    return parse_quantity(claim["spec"]["resources"]["requests"]["storage"])


def _capacity(claim: Object) -> str:
    size: str = claim["status"].get("capacity", {}).get("storage", "0")
    return size


def check_class_change(old: Object, new: Object) -> None:
    """Raises 422 for changes of what is fixed once a storage class exists."""
    causes = [
        wrong(name, new.get(name), "field is immutable")
        for name in _CLASS_FIXED
        if old.get(name) != new.get(name)
    ]
    if causes:
        raise invalid(STORAGE_CLASS, new["metadata"]["name"], causes)


class StorageAdmission:
    """Gives claims the default class, and lets them grow only where their class allows it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __call__(self, kind: Kind, obj: Object, old: Object | None) -> None:
        """Looks at one write."""
        if kind != CLAIM:
            return
        if old is None:
            self._give_class(obj)
        elif _size(obj) > _size(old):
            self._let_grow(obj, old)

    def _give_class(self, claim: Object) -> None:
        if claim["spec"].get("storageClassName") is not None:
            return
        named = [
            (found["metadata"]["creationTimestamp"], found["metadata"]["name"])
            for found in self._store.all(STORAGE_CLASS)
            if (found["metadata"].get("annotations") or {}).get(DEFAULT_CLASS) == "true"
        ]
        if named:
            claim["spec"]["storageClassName"] = max(named)[1]

    def _let_grow(self, claim: Object, old: Object) -> None:
        name = claim["metadata"]["name"]
        if old.get("status", {}).get("phase") != "Bound":
            raise forbidden(CLAIM, name, "Only bound persistent volume claims can be expanded")
        wanted = claim["spec"].get("storageClassName") or ""
        found = self._store.get(STORAGE_CLASS, "", wanted)
        if found is None or not found.get("allowVolumeExpansion"):
            why = (
                "only dynamically provisioned pvc can be resized and the storageclass that "
                "provisions the pvc must support resize"
            )
            raise forbidden(CLAIM, name, why)


def volume_allows(volume: Object, labels: dict[str, str]) -> bool:
    """Whether a volume can be reached from a node with these labels."""
    terms = ((volume["spec"].get("nodeAffinity") or {}).get("required") or {}).get(
        "nodeSelectorTerms"
    ) or ()
    return not terms or any(_meets(term, labels) for term in terms)


def _meets(term: dict[str, Any], labels: dict[str, str]) -> bool:
    return all(
        labels.get(row["key"]) in (row.get("values") or ())
        for row in term.get("matchExpressions") or ()
        if row["operator"] == "In"
    )


def volume_of(store: Store, claim: Object) -> Object | None:
    """The volume a claim is bound to, if any."""
    return store.get(VOLUME, "", claim["spec"].get("volumeName") or "")


def claims_of(pod: Object) -> list[tuple[str, str]]:
    """The names of a pod's volumes that are claims, each with the name of the claim."""
    found = []
    for volume in pod["spec"].get("volumes") or ():
        name = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if name:
            found.append((volume["name"], name))
    return found
