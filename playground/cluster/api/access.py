"""Who asks, and whether they may: bearer tokens and RBAC."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from playground.cluster.objects.errors import ApiError, unauthorized
from playground.cluster.objects.kinds import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    ROLE,
    ROLE_BINDING,
    Object,
)
from playground.cluster.objects.store import Store

Rule = dict[str, Any]


@dataclass(frozen=True)
class User:
    """Who a token belongs to; `rules` given here come beside those of roles in the cluster."""

    name: str
    groups: tuple[str, ...] = ("system:authenticated",)
    rules: tuple[Rule, ...] = ()
    watched: bool = False


ADMIN = User("kubernetes-admin", ("system:masters", "system:authenticated"))

ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))


@dataclass(frozen=True)
class Attributes:
    """What somebody wants to do."""

    verb: str
    group: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


class Access:
    """Knows tokens and decides by rules."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.tokens: dict[str, User] = {}
        self.forbidden: set[tuple[str, str]] = set()
        self.anonymous = ANONYMOUS

    def user(self, authorization: str) -> User:
        """Who sent an Authorization header (or none); 401 for an unknown token."""
        if not authorization:
            return self.anonymous
        scheme, _, token = authorization.partition(" ")
        user = self.tokens.get(token.strip()) if scheme.lower() == "bearer" else None
        if user is None:
            raise unauthorized()
        return user

    def require(self, user: User, attributes: Attributes) -> None:
        """403 in the words of the API server, if the user may not."""
        if not self.may(user, attributes):
            raise _refusal(user, attributes)

    def may(self, user: User, attributes: Attributes) -> bool:
        """Whether a rule allows it, and no fault forbids it."""
        if user.watched and (attributes.verb, attributes.resource) in self.forbidden:
            return False
        if "system:masters" in user.groups:
            return True
        return any(_allows(rule, attributes) for rule in self.rules(user, attributes.namespace))

    def rules(self, user: User, namespace: str) -> Iterator[Rule]:
        """All rules that hold for a user, in one namespace too."""
        yield from user.rules
        for binding in self._store.all(CLUSTER_ROLE_BINDING):
            if _binds(binding, user):
                yield from self._role_rules(binding, "")
        for binding in self._store.all(ROLE_BINDING, namespace) if namespace else ():
            if _binds(binding, user):
                yield from self._role_rules(binding, namespace)

    def _role_rules(self, binding: Object, namespace: str) -> Iterator[Rule]:
        reference = binding["roleRef"]
        cluster_wide = reference["kind"] == "ClusterRole"
        kind = CLUSTER_ROLE if cluster_wide else ROLE
        role = self._store.get(kind, "" if cluster_wide else namespace, reference["name"])
        yield from (role or {}).get("rules") or ()


def _binds(binding: Object, user: User) -> bool:
    return any(_is_subject(subject, user) for subject in binding.get("subjects") or ())


def _is_subject(subject: dict[str, Any], user: User) -> bool:
    match subject["kind"]:
        case "User":
            return bool(subject["name"] == user.name)
        case "Group":
            return subject["name"] in user.groups
        case _:
            account = f"system:serviceaccount:{subject.get('namespace')}:{subject['name']}"
            return account == user.name


def _allows(rule: Rule, attributes: Attributes) -> bool:
    def lists(field: str, value: str) -> bool:
        listed = rule.get(field) or ()
        return "*" in listed or value in listed

    if not lists("verbs", attributes.verb):
        return False
    if attributes.path:
        paths = rule.get("nonResourceURLs") or ()
        return any(p in {"*", attributes.path} or _prefix(p, attributes.path) for p in paths)
    names = rule.get("resourceNames") or ()
    return (
        lists("apiGroups", attributes.group)
        and lists("resources", attributes.resource)
        and (not names or attributes.name in names)
    )


def _prefix(pattern: str, path: str) -> bool:
    return pattern.endswith("*") and path.startswith(pattern[:-1])


def _refusal(user: User, attributes: Attributes) -> ApiError:
    if attributes.path:
        message = f'forbidden: User "{user.name}" cannot {attributes.verb} path "{attributes.path}"'
        return ApiError(403, "Forbidden", message)
    where = (
        f'in the namespace "{attributes.namespace}"'
        if attributes.namespace
        else "at the cluster scope"
    )
    plural = attributes.resource.partition("/")[0]
    qualified = f"{plural}.{attributes.group}" if attributes.group else plural
    what = (
        f'{qualified} "{attributes.name}" is forbidden: '
        if attributes.name
        else f"{qualified} is forbidden: "
    )
    message = (
        f'{what}User "{user.name}" cannot {attributes.verb} resource "{attributes.resource}" '
        f'in API group "{attributes.group}" {where}'
    )
    details = {"kind": plural, **({"name": attributes.name} if attributes.name else {})}
    if attributes.group:
        details["group"] = attributes.group
    return ApiError(403, "Forbidden", message, details)


def review_access(access: Access, user: User, body: Object) -> Object:
    """The answer to a SelfSubjectAccessReview."""
    spec = body.get("spec") or {}
    asked, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if asked:
        part = f"/{asked['subresource']}" if asked.get("subresource") else ""
        attributes = Attributes(
            asked.get("verb", ""),
            asked.get("group", ""),
            asked.get("resource", "") + part,
            asked.get("namespace", ""),
            asked.get("name", ""),
        )
    else:
        attributes = Attributes((path or {}).get("verb", "get"), path=(path or {}).get("path", "/"))
    status: dict[str, Any] = {"allowed": access.may(user, attributes)}
    if status["allowed"]:
        status["reason"] = "RBAC: allowed"
    return _review("SelfSubjectAccessReview", spec, status)


def review_user(user: User) -> Object:
    """The answer to a SelfSubjectReview."""
    return {
        "kind": "SelfSubjectReview",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"creationTimestamp": None},
        "status": {"userInfo": {"username": user.name, "groups": list(user.groups)}},
    }


def review_rules(access: Access, user: User, body: Object) -> Object:
    """The answer to a SelfSubjectRulesReview."""
    spec = body.get("spec") or {}
    rules = list(access.rules(user, spec.get("namespace", "")))
    if "system:masters" in user.groups:
        rules = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
    status = {
        "resourceRules": [rule for rule in rules if "resources" in rule],
        "nonResourceRules": [rule for rule in rules if "nonResourceURLs" in rule],
        "incomplete": False,
    }
    return _review("SelfSubjectRulesReview", spec, status)


def _review(kind: str, spec: Object, status: dict[str, Any]) -> Object:
    return {
        "kind": kind,
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {"creationTimestamp": None},
        "spec": spec,
        "status": status,
    }
