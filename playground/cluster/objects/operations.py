"""Create, update and patch, as the API server does them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from random import Random
from typing import Any
from uuid import UUID

from playground.cluster.objects.errors import (
    ApiError,
    Cause,
    already_exists,
    bad_request,
    conflict,
    forbidden,
    invalid,
    not_found,
    required,
)
from playground.cluster.objects.expressions import broken_rules
from playground.cluster.objects.kinds import NAMESPACE, WORKLOAD, Kind, Kinds, Object
from playground.cluster.objects.merging import count_generation, decoded, merged_parts
from playground.cluster.objects.ownership import applied, noted
from playground.cluster.objects.rules import apply_defaults, check_change, check_new, complete
from playground.cluster.objects.store import Store
from playground.cluster.objects.validation import Validator, check_name

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


@dataclass(frozen=True)
class Options:
    """How a write is meant."""

    manager: str = ""
    dry_run: bool = False
    force: bool = False
    strictness: str = "Warn"
    version: str = ""
    checked: bool = True


INTERNAL = Options(checked=False)
Admission = Callable[[Kind, Object, Object | None], None]
Transform = Callable[[Object], Any]


def stamp(moment: datetime) -> str:
    """A moment as Kubernetes writes it, to the second."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


class Operations:
    """Writes objects by the rules of the API server; the others are asked in their order.

    `admissions` may change what is written, and come before the API server's own checks;
    `validations` come after these.
    """

    def __init__(
        self, store: Store, kinds: Kinds, validator: Validator, present: Callable[[], datetime]
    ) -> None:
        self.store = store
        self.kinds = kinds
        self.present = present
        self.admissions: list[Admission] = []
        self.validations: list[Admission] = []
        # Seeded, so that the same story gives the same names.
        self.random = Random(20261121)  # noqa: S311 -- names, not secrets
        self._validator = validator

    def create(
        self, kind: Kind, namespace: str, body: Object, options: Options = INTERNAL
    ) -> Object:
        """The object as it was created."""
        sent = body if kind.custom else decoded(body)
        obj = {"apiVersion": kind.api_version, "kind": kind.kind, **sent}
        metadata = obj["metadata"] = dict(sent.get("metadata") or {})
        self._place(kind, namespace, metadata)
        self._name(kind, metadata)
        if options.checked:
            self._validator.check(kind, obj, options.version or kind.version, options.strictness)
        self._identify(kind, obj)
        apply_defaults(kind, obj)
        for admit in self.admissions:
            admit(kind, obj, None)
        check_new(kind, obj)
        self._judge(kind, obj, None, options)
        if self.store.get(kind, namespace, metadata["name"]) is not None:
            raise already_exists(kind, metadata["name"])
        if options.manager:
            noted(None, obj, options.manager)
        return obj if options.dry_run else self.store.put(kind, obj)

    def update(
        self, kind: Kind, namespace: str, body: Object, options: Options = INTERNAL, part: str = ""
    ) -> Object:
        """The object as it is after it was replaced (or its status, when `part` says so)."""
        name = (body.get("metadata") or {}).get("name", "")
        old = self.get(kind, namespace, name)
        version = body["metadata"].get("resourceVersion")
        if version is None and kind.custom and options.checked:
            cause = Cause(
                "metadata.resourceVersion", "Invalid value: 0: must be specified for an update"
            )
            raise invalid(kind, name, [cause])
        return self._replace(kind, old, body, options, part)

    def patch(
        self,
        kind: Kind,
        key: tuple[str, str],
        transform: Transform,
        options: Options = INTERNAL,
        part: str = "",
    ) -> Object:
        """The object as it is after a patch."""
        old = self.get(kind, *key)
        copy = self.store.edit(kind, *key)
        new = transform(copy) if copy is not None else {}
        if not isinstance(new, dict) or not isinstance(new.get("metadata"), dict):
            raise bad_request("the patched object has no metadata")
        return self._replace(kind, old, new, options, part)

    def apply(
        self, kind: Kind, key: tuple[str, str], body: Object, options: Options, part: str = ""
    ) -> tuple[Object, bool]:
        """The object after a server-side apply, and whether that created it."""
        if not options.manager:
            raise ApiError(
                422,
                "Invalid",
                'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is '
                "required for apply patch",
            )
        body.setdefault("metadata", {})["name"] = key[1]
        if self.store.get(kind, *key) is None:
            fresh = applied(
                {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {}},
                body,
                options.manager,
                force=True,
            )
            return self.create(kind, key[0], fresh, replace(options, manager="")), True

        def transform(live: Object) -> Object:
            return applied(live, body, options.manager, force=options.force)

        return self.patch(kind, key, transform, replace(options, manager=""), part), False

    def get(self, kind: Kind, namespace: str, name: str) -> Object:
        """The object, shared; 404 when there is none."""
        found = self.store.get(kind, namespace, name)
        if found is None:
            raise not_found(kind, name)
        return found

    def suffix(self, length: int = 5) -> str:
        """Letters for generated names, the same in every run of the same story."""
        return "".join(self.random.choices(_LETTERS, k=length))

    def uid(self) -> str:
        """A new uid, the same in every run of the same story."""
        return str(UUID(int=self.random.getrandbits(128), version=4))

    def _replace(
        self, kind: Kind, old: Object, body: Object, options: Options, part: str
    ) -> Object:
        name = old["metadata"]["name"]
        new = merged_parts(kind, old, body, part)
        self._guard(kind, old, body)
        if options.checked:
            self._validator.check(kind, new, kind.version, options.strictness)
        if part == "status":
            self._judge(kind, new, old, options, part)
        else:
            self._admit(kind, new, old, options)
            count_generation(kind, old, new)
            if options.manager:
                noted(old, new, options.manager)
        if options.dry_run:
            return new
        if new["metadata"].get("deletionTimestamp") and not new["metadata"].get("finalizers"):
            return self._let_go(kind, old, new)
        kept = self.store.put(kind, new)
        if kept["metadata"]["name"] != name:
            raise bad_request("metadata.name: field is immutable")
        return kept

    def _admit(self, kind: Kind, new: Object, old: Object, options: Options) -> None:
        complete(kind, new)
        check_new(kind, new)
        check_change(kind, old, new)
        for admit in self.admissions:
            admit(kind, new, old)
        self._judge(kind, new, old, options)

    def _judge(
        self, kind: Kind, new: Object, old: Object | None, options: Options, part: str = ""
    ) -> None:
        """Refuses what the rules of its definition, or a webhook, do not let be."""
        if options.checked and (causes := broken_rules(kind, new, old)):
            raise invalid(kind, new["metadata"]["name"], causes)
        # Of all that watch, Kueue alone looks at a status, and only at that of its Workloads.
        for judge in self.validations if part != "status" or kind == WORKLOAD else ():
            judge(kind, new, old)

    def _let_go(self, kind: Kind, old: Object, new: Object) -> Object:
        """Removes an object that was being deleted, once its last finalizer is gone."""
        gone = bool(old["metadata"].get("finalizers"))
        if gone and new["metadata"].get("deletionGracePeriodSeconds", 0) == 0 and kind != NAMESPACE:
            self.store.put(kind, new)
            key = (new["metadata"].get("namespace", ""), new["metadata"]["name"])
            last = self.store.remove(kind, key)
            return new if last is None else last
        return self.store.put(kind, new)

    def _guard(self, kind: Kind, old: Object, body: Object) -> None:
        sent, kept = body["metadata"], old["metadata"]
        version = sent.get("resourceVersion")
        if version not in {None, "", "0"} and version != kept["resourceVersion"]:
            raise conflict(kind, kept["name"])
        if sent.get("uid") not in {None, "", kept["uid"]}:
            why = (
                f"Precondition failed: UID in precondition: {sent['uid']}, "
                f"UID in object meta: {kept['uid']}"
            )
            raise conflict(kind, kept["name"], why)

    def _place(self, kind: Kind, namespace: str, metadata: dict[str, Any]) -> None:
        if not kind.namespaced:
            metadata.pop("namespace", None)
            return
        if metadata.setdefault("namespace", namespace) != namespace:
            raise bad_request(
                f"the namespace of the provided object does not match the namespace sent on the "
                f"request ({namespace})"
            )
        space = self.store.get(NAMESPACE, "", namespace)
        if space is None:
            raise not_found(NAMESPACE, namespace)
        if space["status"]["phase"] == "Terminating":
            why = (
                f"unable to create new content in namespace {namespace} because it is being "
                "terminated"
            )
            error = forbidden(kind, metadata.get("name", ""), why)
            error.details["causes"] = [
                {
                    "reason": "NamespaceTerminating",
                    "message": f"namespace {namespace} is being terminated",
                    "field": "metadata.namespace",
                }
            ]
            raise error

    def _name(self, kind: Kind, metadata: dict[str, Any]) -> None:
        if not metadata.get("name"):
            if not metadata.get("generateName"):
                cause = required("metadata.name", "name or generateName is required")
                raise invalid(kind, "", [cause])
            metadata["name"] = metadata["generateName"][:58] + self.suffix()
        check_name(kind, metadata["name"])
        if metadata.pop("resourceVersion", None):
            raise bad_request("resourceVersion should not be set on objects to be created")

    def _identify(self, kind: Kind, obj: Object) -> None:
        metadata = obj["metadata"]
        for name in (
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "managedFields",
            "selfLink",
        ):
            metadata.pop(name, None) if name != "managedFields" else None
        metadata["uid"] = self.uid()
        metadata["creationTimestamp"] = stamp(self.present())
        if kind.generations:
            metadata["generation"] = 1
        if "status" in kind.subresources and kind.custom:
            obj.pop("status", None)
